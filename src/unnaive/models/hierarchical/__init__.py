"""Hierarchical Bayesian network classifiers. Start with learner.py; the files in the order of the data flow:

cases               distinct rows of features with the weight inside and outside a class
feature_clusters    which features belong together, by three criteria (AVG, OR, DEP)
tree_shape          from clusters to the shape of a network, compiled over the rows that occur
em                  EM with many random starts; em_to_class and em_from_class are its steps
hidden_tree         a fitted network with arcs to the class; hidden_naive_bayes one with arcs from it
hidden_networks     the scorer with one network per class, its goodness of fit and its storage
tree_view           a network as a tree and as text
"""
