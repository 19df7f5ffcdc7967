"""The benchmark collections: source, licence, checksums, counts; `load` reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from unnaive.data.corpus import Corpus
from unnaive.papers.collections import readers, reuters
from unnaive.papers.collections.archives import ArchiveMember


@dataclass(frozen=True)
class Collection:
    """One benchmark collection.

    `documents` is the number in the widest view, `parts` the split of the default view (the first of `views`).
    `sha256` lists the checksums of valid archives; `contents` is the digest of the files within, so that a folder or
    a repacked archive can be verified too. `marker` is a file or folder that identifies unpacked files.
    """

    name: str
    title: str
    about: str
    terms: str
    documents: int
    parts: dict[str, int]
    size: int
    file: str
    marker: str
    home: str
    urls: tuple[str, ...]
    sha256: tuple[str, ...]
    contents: str
    pattern: str
    views: tuple[str, ...]
    read: Callable[[Sequence[ArchiveMember], str], Corpus] = field(repr=False)

    @property
    def widest(self) -> str:
        """The view with all documents."""
        return "all" if "all" in self.views else self.views[0]

    @property
    def origin(self) -> str:
        """How to get it, as part of a sentence."""
        if self.urls:
            return f"get it with `unnaive collections fetch {self.name}` or from {self.urls[0]}"
        return f"get it from {self.home}"


ALL = (
    Collection(
        name="reuters",
        title="Reuters-21578, Distribution 1.0",
        about="newswire stories of 1987, each with any number of topics",
        terms="copyright Reuters; free for research",
        documents=21578,
        parts={"test": 3019, "train": 7769},
        size=8_092_905,
        file="reuters21578.tar.gz",
        marker="reut2-000.sgm",
        home="http://www.daviddlewis.com/resources/testcollections/reuters21578/",
        urls=(
            "https://kdd.ics.uci.edu/databases/reuters21578/reuters21578.tar.gz",
            "https://archive.ics.uci.edu/ml/machine-learning-databases/reuters21578-mld/reuters21578.tar.gz",
        ),
        sha256=(
            "bbec93affb4e77c86aa7540f322e7d0804083009c52fe1942af2c089be0dfd5d",
            "3bae43c9b14e387f76a61b6d82bf98a4fb5d3ef99ef7e7075ff2ccbcf59f9d30",
        ),
        contents="c738afdb5bf4cb52bb0f624cb230df759433e079b590181bc56bd65dc581a862",
        pattern=reuters.PATTERN,
        views=tuple(reuters.VIEWS),
        read=reuters.read_reuters,
    ),
    Collection(
        name="20newsgroups",
        title="20 Newsgroups, by date",
        about="Usenet messages of 1993 from twenty groups, split by date",
        terms="freely available for research",
        documents=18846,
        parts={"test": 7532, "train": 11314},
        size=14_386_448,
        file="20news-bydate.tar.gz",
        marker="20news-bydate-train",
        home="http://qwone.com/~jason/20Newsgroups/",
        urls=(
            "http://qwone.com/~jason/20Newsgroups/20news-bydate.tar.gz",
            "https://ndownloader.figshare.com/files/5975967",
        ),
        sha256=(
            "93ea4137e70c6e14cf32ff2a61d5851f7b88e2e87b3bef1f96fdf5842347b652",
            "8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
        ),
        contents="2d18ebb5fd7a03f7e30320855e8738e2106782009a0800874524d4e391dc3205",
        pattern=readers.NEWSGROUPS,
        views=tuple(readers.MESSAGE_VIEWS),
        read=readers.read_newsgroups,
    ),
    Collection(
        name="ohsumed",
        title="Ohsumed, abstracts with one of 23 categories",
        about="medical abstracts of 1991 with exactly one of the 23 MeSH disease categories",
        terms="from MEDLINE; non-commercial research",
        documents=7400,
        parts={"test": 4043, "train": 3357},
        size=3_402_285,
        file="ohsumed-single-23.tar.gz",
        marker="ohsumed_single_23",
        home="https://github.com/yao8839836/text_gcn/tree/master/data (the folder ohsumed_single_23)",
        urls=(),
        sha256=("53501d3ed0583dc579d34c1088135b661f8ac578b8735c37a9067c9780108ff1",),
        contents="4ad130f231023adc261e79648e65fe69658c6d2d660268b3466a96b37c2026a0",
        pattern=readers.OHSUMED,
        views=("categories",),
        read=readers.read_ohsumed,
    ),
    Collection(
        name="ohsumed-20000",
        title="Ohsumed, first 20,000 abstracts of 1991",
        about="medical abstracts with one or more of the 23 MeSH disease categories",
        terms="from MEDLINE; non-commercial research",
        documents=13929,
        parts={"test": 7643, "train": 6286},
        size=0,
        file="ohsumed-first-20000-docs.tar.gz",
        marker="ohsumed-first-20000-docs",
        home="http://disi.unitn.it/moschitti/corpora.htm",
        urls=("http://disi.unitn.it/moschitti/corpora/ohsumed-first-20000-docs.tar.gz",),
        sha256=(),
        contents="",  # no checksum is published; its counts are, and they are checked
        pattern=readers.OHSUMED,
        views=("categories",),
        read=readers.read_ohsumed,
    ),
    Collection(
        name="webkb4",
        title="WebKB, four classes, stemmed",
        about="university web pages: course, faculty, project, student; already stemmed, without stop words",
        terms="freely available for research",
        documents=4199,
        parts={"test": 1396, "train": 2803},
        size=1_175_858,
        file="webkb4-stemmed.tar.gz",
        marker="webkb-train-stemmed.txt",
        home="http://ana.cachopo.org/datasets-for-single-label-text-categorization",
        urls=(),
        sha256=("0a2e3816a4c79689ae9012ed69c78dcc7e461a7f0272e77855cb3dae9b68811c",),
        contents="6eb8fe57793e79a5e9a8eaf7b09276b76cd2ae8c79e7bc5fa9c7f85793d5b9ae",
        pattern=readers.WEBKB,
        views=("stemmed",),
        read=readers.read_webkb,
    ),
    Collection(
        name="1150haber",
        title="1150 haber, Turkish news",
        about="Turkish news stories, 230 each of economy, magazine, health, politics and sport",
        terms="free for research",
        documents=1150,
        parts={},
        size=841_748,
        file="1150haber.tar.gz",
        marker="1150haber",
        home="http://www.kemik.yildiz.edu.tr/ (1150haber.rar, to be unpacked)",
        urls=(),
        sha256=("f217d265626e167c43443f7287049c8ba63d0e6e0a988376d317e3a4e44d71e1",),
        contents="b32b039543236470e16581abc169e66eb307bae4b81d853720315034a3d5ade3",
        pattern=readers.HABER,
        views=("raw",),
        read=readers.read_haber,
    ),
    Collection(
        name="20news-19997",
        title="20 Newsgroups, the original messages",
        about="1,000 messages of each of twenty groups, without a split; a message in several groups occurs in each",
        terms="freely available for research",
        documents=19997,
        parts={},
        size=0,
        file="20news-19997.tar.gz",
        marker="20_newsgroups",
        home="http://qwone.com/~jason/20Newsgroups/",
        urls=("http://qwone.com/~jason/20Newsgroups/20news-19997.tar.gz",),
        sha256=(),
        contents="",
        pattern=readers.MESSAGES,
        views=tuple(readers.MESSAGE_VIEWS),
        read=readers.read_messages,
    ),
    Collection(
        name="20news-18828",
        title="20 Newsgroups without duplicates",
        about="messages of twenty groups with From and Subject as their only headers, without a split",
        terms="freely available for research",
        documents=18828,
        parts={},
        size=0,
        file="20news-18828.tar.gz",
        marker="20news-18828",
        home="http://qwone.com/~jason/20Newsgroups/",
        urls=("http://qwone.com/~jason/20Newsgroups/20news-18828.tar.gz",),
        sha256=(),
        contents="",
        pattern=readers.MESSAGES,
        views=("from-subject-body", "subject-body", "body"),
        read=readers.read_messages,
    ),
    Collection(
        name="webkb",
        title="WebKB, the pages as published",
        about='pages of computer science departments in seven classes; the view "four" has those of four',
        terms="freely available for research",
        documents=8282,
        parts={},
        size=0,
        file="webkb-data.gtar.gz",
        marker="webkb",
        home="http://www.cs.cmu.edu/afs/cs.cmu.edu/project/theo-20/www/data/",
        urls=("http://www.cs.cmu.edu/afs/cs.cmu.edu/project/theo-20/www/data/webkb-data.gtar.gz",),
        sha256=(),
        contents="",
        pattern=readers.PAGES,
        views=("four", "all"),
        read=readers.read_pages,
    ),
    *(
        Collection(
            name=name,
            title=title,
            about=f"{about}; a folder for each class, at any depth",
            terms="not distributed any more" if name == "job-category" else "freely available for research",
            documents=documents,
            parts={},
            size=0,
            file=f"{name}.tar.gz",
            marker=name,
            home="your own copy, in a folder for each class",
            urls=(),
            sha256=(),
            contents="",
            pattern=readers.FOLDERS,
            views=("pages",),
            read=readers.read_folders,
        )
        for name, title, about, documents in (
            ("industry-sector", "Industry Sector", "web pages of companies in 105 sectors", 9629),
            ("7-sectors", "7 Sectors", "web pages of companies in 48 classes", 4573),
            ("job-category", "Job Category", "titles and descriptions of jobs in 65 classes", 131643),
        )
    ),
    Collection(
        name="banking77",
        title="Banking77, intents of bank customers",
        about="short questions of bank customers, one of 77 intents each",
        terms="CC BY 4.0 (Casanueva et al. 2020)",
        documents=13083,
        parts={"test": 3080, "train": 10003},
        size=209_256,
        file="banking77.tar.gz",
        marker="banking77",
        home="https://github.com/PolyAI-LDN/task-specific-datasets (train.csv and test.csv of banking_data)",
        urls=(),
        sha256=("570b449b549f0023b577009737f5fc21611d89781ba96be9dbe431c0f1294995",),
        contents="1c836d28db4a6aa08b4158b72626fcb61bc0df27531dd75e4459ab27f6637d44",
        pattern=readers.BANKING,
        views=("intents",),
        read=readers.read_banking,
    ),
)

COLLECTIONS: dict[str, Collection] = {collection.name: collection for collection in ALL}
