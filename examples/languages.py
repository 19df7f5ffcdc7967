"""What a model sees of a text, in several languages and scripts."""

from unnaive import TokenRule
from unnaive.text.tokens import tokens

print("German: ", tokens("Die Häuser der Städte", TokenRule(language="de", stopwords="de", stem="snowball")))
print("Turkish:", tokens("IŞIK AÇIK", TokenRule(language="tr")))
print("Chinese:", tokens("我爱北京", TokenRule()))
print("HTML:   ", tokens("<p>caf&eacute; <b>au lait</b></p>", TokenRule(html=True)))
print("Mail:   ", tokens("Subject: Lost card\n\nPlease block it.", TokenRule(message="subject-body")))
print("Pairs:  ", tokens("New York taxi", TokenRule(ngrams=(1, 2))))
