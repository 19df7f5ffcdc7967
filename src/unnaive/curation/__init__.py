"""Better data: `audit` finds what is wrong with it, `labelling` asks for more of it."""
