"""Show the terms that a model sees in several languages and scripts, and count the terms of each token rule."""

import matplotlib.pyplot as plt

from unnaive import TokenRule
from unnaive.text.tokens import tokens

print("German: ", tokens("Die Häuser der Städte", TokenRule(language="de", stopwords="de", stem="snowball")))
print("Turkish:", tokens("IŞIK AÇIK", TokenRule(language="tr")))
print("Chinese:", tokens("我爱北京", TokenRule()))
print("HTML:   ", tokens("<p>caf&eacute; <b>au lait</b></p>", TokenRule(strip_html=True)))
print("Mail:   ", tokens("Subject: Lost card\n\nPlease block it.", TokenRule(message="subject-body")))
print("Pairs:  ", tokens("New York taxi", TokenRule(ngrams=(1, 2))))

text = "I cannot log in to my account since the update"
rules = {
    "words": TokenRule(),
    "words without stop words": TokenRule(stopwords="en"),
    "words and pairs": TokenRule(ngrams=(1, 2)),
    "characters, 2 to 5": TokenRule(analyzer="char"),
}
plt.barh(list(rules), [len(tokens(text, rule)) for rule in rules.values()])
plt.xlabel("terms of one short sentence")
plt.show()
