"""Chinese, Thai and emoji from raw text to labels: what used to be near chance is learnt."""

import random

import pytest

from unnaive.classifier.text_classifier import TextClassifier
from unnaive.text.tokens import spans

# phrases of two subjects; a text is some of them one after another, as those scripts are written
CHINESE = {
    "sport": [
        "球队赢得比赛",
        "球员射门得分",
        "教练换人",
        "冠军联赛开始",
        "篮球明星受伤",
        "观众在体育场欢呼",
        "足球决赛",
    ],
    "money": [
        "股市下跌",
        "银行提高利率",
        "公司发布财报",
        "投资者担心通货膨胀",
        "央行降低利率",
        "人民币汇率上涨",
        "经济增长",
    ],
}
THAI = {
    "sport": ["ทีมชนะการแข่งขัน", "นักเตะยิงประตู", "โค้ชเปลี่ยนตัว", "แชมป์ลีกเริ่ม", "นักบาสบาดเจ็บ", "แฟนบอลเชียร์", "ฟุตบอลนัดชิง"],
    "money": [
        "ตลาดหุ้นตก",
        "ธนาคารขึ้นดอกเบี้ย",
        "บริษัทประกาศงบ",
        "นักลงทุนกังวลเงินเฟ้อ",
        "ลดอัตราดอกเบี้ย",
        "ค่าเงินบาทแข็ง",
        "เศรษฐกิจโต",
    ],
}


def drawn_texts(phrases, size, seed):
    draw = random.Random(seed)
    labels = [draw.choice(["sport", "money"]) for _ in range(size)]
    return ["".join(draw.sample(phrases[label], 4)) for label in labels], labels


def accuracy(phrases, **rule):
    classifier = TextClassifier("multinomial", **rule).fit(*drawn_texts(phrases, 100, seed=0))
    texts, labels = drawn_texts(phrases, 200, seed=1)
    return (classifier.predict(texts) == labels).mean()


@pytest.mark.parametrize("phrases", [CHINESE, THAI], ids=["chinese", "thai"])
def test_scripts_without_spaces_are_classified(phrases):
    assert accuracy(phrases, unspaced="whole") < 0.7  # each text is one word, nearly always a new one
    assert accuracy(phrases) == 1.0


def test_emoji_and_symbols_tell_moods_apart(tmp_path):
    texts = ["it came today 😀", "it came today 😡", "that was it :)", "that was it :("] * 5
    labels = ["good", "bad"] * 10
    model = TextClassifier("multinomial", symbols=True).fit(texts, labels)
    assert model.predict(["😀", "😡", ":)", ":("]).tolist() == ["good", "bad", "good", "bad"]
    model.save(tmp_path / "moods.model")
    again = TextClassifier.load(tmp_path / "moods.model")
    assert again.token_rule == model.token_rule
    assert again.predict([":(", "😀"]).tolist() == ["bad", "good"]


def test_evidence_points_at_characters_and_emoji():
    model = TextClassifier("multinomial").fit(["球队赢得比赛 😀", "银行提高利率 😡"], ["sport", "money"])
    text = "NBA球队😀"
    found = [(text[start:end], term) for start, end, term in spans(text, model.token_rule) if term in model.vocabulary_]
    assert [term for _, term in found] == ["球", "球队", "队", "😀"]
    assert all(written == term for written, term in found)
