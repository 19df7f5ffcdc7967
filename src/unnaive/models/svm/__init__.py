"""Linear support vector machines: the SVM, NB-SVM, and the dual coordinate descent that trains them."""
