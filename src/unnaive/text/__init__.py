"""Texts → counted terms: token rules, the native kernel and its reference, vocabularies."""
