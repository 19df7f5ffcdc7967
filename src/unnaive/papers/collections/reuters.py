"""Reuters-21578: the SGML files → documents, and the subsets used in the literature."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from unnaive.base.errors import choose
from unnaive.data.corpus import Corpus, Labels
from unnaive.papers.collections.archives import ArchiveMember

PATTERN = r"(reut2-\d{3}[.]sgm)$"

# the published 7,769 training documents of the 90 topics (Yang and Liu 1999, ApteMod) lack this story about trade:
# its tag has the extra attribute CSECS, which readers that expect five attributes miss
LOST = "1199"

TOP10 = ("acq", "corn", "crude", "earn", "grain", "interest", "money-fx", "ship", "trade", "wheat")


class Story(NamedTuple):
    """One REUTERS element; `judged` is its TOPICS attribute, `lewis` its LEWISSPLIT."""

    id: str
    judged: str
    lewis: str
    topics: Labels
    text: str


# elements have any number of attributes (four stories have CSECS), so each is looked up by name
CONTENT = r"[^<]*+(?:<(?!/?{0}[ >])[^<]*+)*+"  # without an element of the same name, so that reading takes linear time


def element(name: str, attributes: str = "") -> re.Pattern[str]:
    """The pattern of an element, whose last group is its content."""
    return re.compile(f"<{name}{attributes}>({CONTENT.format(name)})</{name}>")


STORY = element("REUTERS", " ([^<>]*)")
ATTRIBUTE = re.compile(r'(\b\w++)="([^"]*)"')
TOPICS, TOPIC, TITLE, BODY = element("TOPICS"), element("D"), element("TITLE"), element("BODY")
TEXT = element("TEXT", "((?: [^<>]*)?)")
BYLINE = re.compile(rf"<(AUTHOR|DATELINE)>{CONTENT.format('(?:AUTHOR|DATELINE)')}</\1>")
TAG = re.compile(r"</?(?:TITLE|BODY)>")
CONTROL = re.compile(r"&#\d+;|[\x00-\x08\x0b-\x1f\x7f]")  # all numeric entities there are name control characters


def parse_stories(sgml: str, read_text: Callable[[str], str] | None = None) -> list[Story]:
    """The stories of one file's text, in order; `read_text` reads the text of a REUTERS element, as `story_text` does.

    >>> parse_stories('<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" CSECS="9" NEWID="7"><TOPICS><D>tin</D></TOPICS>'
    ...         '<TEXT>&#2;<TITLE>TIN &amp; CO</TITLE><BODY>Up &lt;5. Reuter &#3;</BODY></TEXT></REUTERS>')
    [Story(id='7', judged='YES', lewis='TRAIN', topics=('tin',), text='TIN & CO\\nUp <5. Reuter')]
    """
    return [parse_story(match[1], match[2], read_text or story_text) for match in STORY.finditer(sgml)]


def parse_story(attributes: str, content: str, read_text: Callable[[str], str]) -> Story:
    """One story from the attributes and the content of its element."""
    value = dict(ATTRIBUTE.findall(attributes))
    topics = tuple(dict.fromkeys(TOPIC.findall(find_first(TOPICS, content))))
    return Story(value["NEWID"], value["TOPICS"], value["LEWISSPLIT"], topics, read_text(content))


def story_text(content: str) -> str:
    """Title and body, one below the other."""
    return "\n".join(part for part in (title_text(content), body_text(content)) if part)


def title_text(content: str) -> str:
    """The title; empty if the story was not split up (TYPE="UNPROC")."""
    match = TEXT.search(content)
    return "" if match is None or "UNPROC" in match[1] else clean_sgml(find_first(TITLE, match[2]))


def body_text(content: str) -> str:
    """The body; the whole text if the story was not split up (TYPE="UNPROC")."""
    match = TEXT.search(content)
    if match is None:
        return ""
    return clean_sgml(match[2] if "UNPROC" in match[1] else find_first(BODY, match[2]))


def literal_text(content: str) -> str:
    """The whole text without author and dateline, including text outside title and body.

    941 documents of the ModApte split have only a title, with `blah blah blah` outside any element. Readers of the raw
    text count these words; `story_text` leaves them out.

    >>> literal_text('<TEXT TYPE="BRIEF">&#2;***<TITLE>FED BUYS</TITLE>Blah blah blah.&#3;</TEXT>')
    '*** FED BUYS Blah blah blah.'
    """
    match = TEXT.search(content)
    return "" if match is None else clean_sgml(TAG.sub(" ", BYLINE.sub(" ", match[2])))


def find_first(pattern: re.Pattern[str], text: str) -> str:
    """The first match of the pattern's group; empty if there is none."""
    match = pattern.search(text)
    return match[1] if match else ""


def clean_sgml(sgml: str) -> str:
    """Control characters → spaces, entities → characters, `&amp;` last so that `&amp;lt;` becomes `&lt;`."""
    text = CONTROL.sub(" ", sgml)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").strip()


def modapte_part(story: Story) -> str:
    """The part of a story in the ModApte split: 9,603 train, 3,299 test, 8,676 unused."""
    used = story.judged == "YES" and story.lewis in ("TRAIN", "TEST")
    return story.lewis.lower() if used else "unused"


def modlewis_part(story: Story) -> str:
    """The part of a story in the ModLewis split: 13,625 train, 6,188 test, 1,765 unused."""
    used = story.judged in ("YES", "NO") and story.lewis in ("TRAIN", "TEST")
    return story.lewis.lower() if used else "unused"


def build_corpus(stories: Sequence[Story], part: Callable[[Story], str], *, unused: bool = False) -> Corpus:
    """The stories of a split, without the unused ones unless requested."""
    selected = [story for story in stories if unused or part(story) != "unused"]
    return Corpus(
        [story.text for story in selected],
        [story.topics for story in selected],
        [part(story) for story in selected],
        [story.id for story in selected],
        "reuters",
    )


def shared_topics(corpus: Corpus, *parts: str) -> set[str]:
    """Topics with at least one document in each of the parts."""
    sizes = [count_topics(corpus, part) for part in parts]
    return set.intersection(*(set(size) for size in sizes))


def count_topics(corpus: Corpus, part: str) -> Counter[str]:
    """Documents of each topic in one part."""
    labels = zip(corpus.labels, corpus.split or (), strict=True)
    return Counter(topic for topics, name in labels if name == part for topic in topics)


def keep_topics(corpus: Corpus, topics: set[str]) -> Corpus:
    """The same documents with only these topics; documents may end up with none."""
    labels = [tuple(topic for topic in labels if topic in topics) for labels in corpus.labels]
    return Corpus(corpus.texts, labels, corpus.split, corpus.ids, corpus.name)


def drop_unlabelled(corpus: Corpus) -> Corpus:
    """The documents that have a label."""
    return corpus.take([row for row, labels in enumerate(corpus.labels) if labels])


def modapte_90_all(stories: Sequence[Story]) -> Corpus:
    """ModApte, 9,603 / 3,299, with the 90 topics that have a training and a test document."""
    split = build_corpus(stories, modapte_part)
    return keep_topics(split, shared_topics(split, "train", "test"))


def modapte_90(stories: Sequence[Story]) -> Corpus:
    """The 7,769 / 3,019 documents with one of the 90 topics on which results are published (see LOST)."""
    return drop_unlabelled(modapte_90_all([story for story in stories if story.id != LOST]))


def modapte_115(stories: Sequence[Story]) -> Corpus:
    """ModApte, 9,603 / 3,299, with the 115 topics that have a training document."""
    split = build_corpus(stories, modapte_part)
    return keep_topics(split, shared_topics(split, "train"))


def keep_single_topic(stories: Sequence[Story], topics: set[str]) -> Corpus:
    """ModApte documents whose only topic is one of `topics` and has a document in both parts (R8, R52)."""
    split = build_corpus(stories, modapte_part)
    rows = [row for row, labels in enumerate(split.labels) if len(labels) == 1 and labels[0] in topics]
    alone = split.take(rows)
    both = shared_topics(alone, "train", "test")
    return drop_unlabelled(keep_topics(alone, both))


def r52(stories: Sequence[Story]) -> Corpus:
    """Single-topic documents: 6,532 / 2,569 in 52 classes (published with one test document fewer)."""
    return keep_single_topic(stories, shared_topics(build_corpus(stories, modapte_part), "train", "test"))


VIEWS: dict[str, Callable[[Sequence[Story]], Corpus]] = {
    "modapte-90": modapte_90,
    "modapte-90-all": modapte_90_all,
    "modapte-115": modapte_115,
    "modapte-top10": lambda stories: keep_topics(modapte_90(stories), set(TOP10)),
    "modapte": lambda stories: build_corpus(stories, modapte_part),
    "modlewis": lambda stories: build_corpus(stories, modlewis_part),
    "r8": lambda stories: keep_single_topic(stories, set(TOP10)),
    "r52": r52,
    "all": lambda stories: build_corpus(stories, modapte_part, unused=True),
}


# the same documents with other text: all of it, as the tools of the or-gate paper read them, or title and body apart
READERS: dict[str, Callable[[str], str]] = {"literal": literal_text, "title": title_text, "body": body_text}
OTHER_TEXTS = {
    f"{view}-{reader}": (view, READERS[reader])
    for view, reader in (
        *((view, "literal") for view in ("modapte-90", "modapte-90-all", "modapte-115")),
        ("modapte", "title"),
        ("modapte", "body"),
    )
}
VIEWS |= {name: VIEWS[view] for name, (view, _) in OTHER_TEXTS.items()}


def read_reuters(files: Sequence[ArchiveMember], view: str) -> Corpus:
    """One of VIEWS of the collection."""
    build = VIEWS[choose(list(VIEWS), view, "view of reuters")]
    _, read_text = OTHER_TEXTS.get(view, (view, story_text))
    return build([story for file in files for story in parse_stories(file.content.decode("latin-1"), read_text)])
