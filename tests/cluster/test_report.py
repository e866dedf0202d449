import dataclasses

from daskasc.cluster import RunReport
from daskasc.cluster._report import CardReport

KIB = 1024
NAMES = [field.name for field in dataclasses.fields(CardReport)]


def card(number, fallbacks=None, **sizes):
    figures = dict.fromkeys(NAMES, 0) | sizes
    return CardReport(**{**figures, "card": number, "fallbacks": fallbacks or {}})


REPORT = RunReport(
    device="cpu",
    cards=(
        card(
            0,
            peak_device_bytes=3 * KIB**2,
            used_device_bytes=KIB**2,
            capacity_device_bytes=4 * KIB**3,
            bytes_host_to_device=2 * KIB,
            bytes_from_peers=512,
            bytes_collective=512,
            bytes_spilled_to_host=KIB,
            bytes_spilled_to_disk=KIB,
        ),
        card(1, {"numpy.<lambda>": (2, KIB)}, capacity_device_bytes=4 * KIB**3, host_copies=1),
    ),
    collectives=7,
    missing=(2,),
)


def test_as_text():
    title, header, first, second, missing, total, *notes = str(REPORT).splitlines()
    assert title == "3 cpu (stand-in) cards"
    assert header.split()[:4] == ["card", "peak", "used", "capacity"]
    assert first.split("  ")[-1].strip() == "0"
    cells = [cell.strip() for cell in first.split("  ") if cell]
    assert cells == [
        *("0", "3.00 MiB", "1.00 MiB", "4.00 GiB"),
        *("2.00 kiB", "0 B", "1.00 kiB", "2.00 kiB", "0"),
    ]
    assert second.endswith(" 2")
    assert missing.split() == ["2", "no", "answer"]
    assert [cell.strip() for cell in total.split("  ") if cell][:3] == [
        *("total", "1.00 MiB", "8.00 GiB")
    ]
    assert total.endswith(" 2")
    assert notes == [
        "collectives: 7",
        "implicit copies to the host: 1",
        "computed on the host: numpy.<lambda>, 2 calls, 1.00 kiB",
    ]
    assert max(map(len, (header, first, second, total))) <= 110
    assert len({len(line) for line in (header, first, second, total)}) == 1


def test_as_html():
    html = REPORT._repr_html_()
    assert html.count("<tr>") == 5
    assert "3.00 MiB" in html
    assert "numpy.&lt;lambda&gt;" in html


def test_without_cards_that_answered():
    text = str(RunReport("npu", (), 0, missing=(0,)))
    assert text.splitlines()[0] == "1 npu card"
    assert "no answer" in text
