"""A prompt router for language models: it chooses the model for a prompt, or none if it is uncertain."""

import matplotlib.pyplot as plt
import numpy as np

from unnaive import TextClassifier

ROUTES = {
    "code": "write a python function that sorts a list | why does this loop never end | fix the bug in my javascript"
    " | explain this sql query | add a unit test for this class | refactor the function to use a dictionary"
    " | what does this stack trace mean | convert the script from bash to python | review my pull request",
    "maths": "solve the equation for x | what is the derivative of this function | prove that the sum is even"
    " | how many ways are there to choose three of ten | compute the integral from zero to one"
    " | what is the probability of two sixes | simplify the fraction | find the area of the triangle",
    "translation": "translate this letter into german | how do you say good morning in spanish"
    " | put this paragraph into plain english | what does this french sentence mean | translate the menu from italian"
    " | is this the right word in turkish | correct my english letter | translate the email to japanese",
    "search": "who won the match yesterday | what is the weather in paris today | find the latest news on the election"
    " | when does the museum open | how much does a train ticket to berlin cost | where is the nearest pharmacy"
    " | what time is the next train | which restaurants are open today",
}
texts, labels = zip(
    *((text, route) for route, all_of_them in ROUTES.items() for text in all_of_them.split(" | ")), strict=True
)
router = TextClassifier("complement", analyzer="both", calibrate="temperature").fit(texts, labels)


def choose_route(prompt, sure=0.5):
    """(the route, its probability); none of these if no word is known, or no route is probable enough."""
    p = router.predict_proba([prompt])[0]
    known = router.fitted_.known_terms([prompt])[0]
    return (router.classes_[p.argmax()] if known and p.max() >= sure else "none of these"), p.max()


prompts = [
    "why does my python script never end",
    "what is the probability of three heads",
    "translate the contract into french",
    "what is the weather in berlin today",
    "sing me a lullaby",
    "qwertz uiop",
]
for prompt in prompts:
    route, p = choose_route(prompt)
    print(f"{route:14} {p:4.0%}  {prompt}")

thresholds = np.linspace(0.25, 0.99, 50)
surest = router.predict_proba(prompts).max(axis=1)
plt.step(thresholds, [(surest >= one).sum() for one in thresholds], where="post")
plt.xlabel("probability that a route must have")
plt.ylabel("prompts that are routed")
plt.yticks(range(len(prompts) + 1))
plt.show()
