"""Hierarchical Bayesian network classifiers. Begin with learner.py; the files in the order of the flow:

cases               rows of features with the weight of each side of a class
feature_clusters    which features belong together (AVG, OR); dependence_clusters has DEP
tree_shape          from clusters to the shape of a network
stages              the shape compiled over the rows that occur
em                  many random starts; em_to_class and em_from_class are its steps
hidden_tree         a fitted network towards the class; hidden_naive_bayes one from the class
hidden_networks     the scorer, a network for each class; network_arrays stores it
network_scores, tree_view   how well a network fits; how it looks
"""
