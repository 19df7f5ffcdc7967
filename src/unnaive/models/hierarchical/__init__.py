"""Hierarchical Bayesian network classifiers. Begin with learner.py; the files in the order of the flow:

cases               distinct rows of features with the weight of each side of a class
feature_clusters    which features belong together, by three criteria (AVG, OR, DEP)
tree_shape          from clusters to the shape of a network, and the shape compiled over the rows that occur
em                  many random starts; em_to_class and em_from_class are its steps
hidden_tree         a fitted network with arcs to the class; hidden_naive_bayes one with arcs from it
hidden_networks     the scorer, a network for each class: how well it fits, how it is stored
tree_view           a network as a tree and as text
"""
