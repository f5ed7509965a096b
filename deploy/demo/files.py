"""Small valid office files written by hand, the same bytes on every machine (nothing is compressed, no clock is read)."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from xml.sax.saxutils import escape

GIF = bytes.fromhex("47494638396101000100800000c00000ffffff2c00000000010001000002024401003b")
"""An image of one pixel."""

CONTENT_TYPES = {
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "gif": "image/gif",
}

_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_ZIP_DATE = (2024, 1, 1, 0, 0, 0)


def make(ext: str, lines: Sequence[str]) -> bytes:
    """A file of the kind ``ext`` (pdf, docx, xlsx) that holds ``lines``."""
    return {"pdf": pdf, "docx": docx, "xlsx": xlsx}[ext](lines)


def pdf(lines: Sequence[str]) -> bytes:
    """A PDF 1.4 page with a text layer: two-byte codes are UTF-16 units, ToUnicode maps them to themselves."""
    text = "\n".join(f"<{line.encode('utf-16-be').hex()}> Tj T*" for line in lines)
    content = f"BT /F1 12 Tf 18 TL 72 770 Td\n{text}\nET".encode("ascii")
    font = "/Type /Font /Subtype /Type0 /BaseFont /DemoSong /Encoding /Identity-H /DescendantFonts [6 0 R] /ToUnicode 7 0 R"
    cid = (
        "/Type /Font /Subtype /CIDFontType2 /BaseFont /DemoSong /DW 1000 /FontDescriptor 8 0 R "
        "/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >>"
    )
    descriptor = (
        "/Type /FontDescriptor /FontName /DemoSong /Flags 4 /FontBBox [0 -200 1000 900] /ItalicAngle 0 "
        "/Ascent 880 /Descent -120 /CapHeight 880 /StemV 80"
    )
    page = "/Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >>"
    return _pdf_file(
        [
            _dictionary("/Type /Catalog /Pages 2 0 R"),
            _dictionary("/Type /Pages /Kids [3 0 R] /Count 1"),
            _dictionary(page),
            _stream(content),
            _dictionary(font),
            _dictionary(cid),
            _stream(_to_unicode(lines)),
            _dictionary(descriptor),
        ]
    )


def docx(lines: Sequence[str]) -> bytes:
    """A Word document with one paragraph a line."""
    body = "".join(f'<w:p><w:r><w:t xml:space="preserve">{escape(line)}</w:t></w:r></w:p>' for line in lines)
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    return _package(
        "word/document.xml",
        {"/word/document.xml": main},
        {"word/document.xml": f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>'},
    )


def xlsx(lines: Sequence[str]) -> bytes:
    """A workbook with one sheet, one line a row in column A."""
    rows = "".join(
        f'<row r="{number}"><c r="A{number}" t="inlineStr"><is><t>{escape(line)}</t></is></c></row>'
        for number, line in enumerate(lines, 1)
    )
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    sheets = f'<sheets><sheet name="Sheet1" sheetId="1" r:id="rId1" xmlns:r="{_OFFICE}"/></sheets>'
    relation = f'<Relationship Id="rId1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
    return _package(
        "xl/workbook.xml",
        {"/xl/workbook.xml": f"{kind}.sheet.main+xml", "/xl/worksheets/sheet1.xml": f"{kind}.worksheet+xml"},
        {
            "xl/workbook.xml": f'<workbook xmlns="{_SHEET}">{sheets}</workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{relation}</Relationships>',
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_SHEET}"><sheetData>{rows}</sheetData></worksheet>',
        },
    )


def _package(start: str, types: dict[str, str], parts: dict[str, str]) -> bytes:
    overrides = "".join(f'<Override PartName="{name}" ContentType="{kind}"/>' for name, kind in types.items())
    defaults = (
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
    )
    relation = f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="{start}"/>'
    every = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">{defaults}{overrides}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{relation}</Relationships>',
        **parts,
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, text in every.items():
            info = zipfile.ZipInfo(name, _ZIP_DATE)
            info.create_system = 3
            archive.writestr(info, _XML + text)
    return out.getvalue()


def _dictionary(entries: str) -> bytes:
    return f"<< {entries} >>".encode("ascii")


def _stream(data: bytes) -> bytes:
    return f"<< /Length {len(data)} >>\nstream\n".encode("ascii") + data + b"\nendstream"


def _to_unicode(lines: Sequence[str]) -> bytes:
    codes = sorted({line.encode("utf-16-be")[at : at + 2].hex() for line in lines for at in range(0, 2 * len(line), 2)})
    groups = [codes[start : start + 100] for start in range(0, len(codes), 100)]
    maps = "\n".join(
        f"{len(group)} beginbfchar\n" + "\n".join(f"<{c}> <{c}>" for c in group) + "\nendbfchar" for group in groups
    )
    return (
        "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n"
        "/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n"
        "/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n"
        f"1 begincodespacerange\n<0000> <ffff>\nendcodespacerange\n{maps}\n"
        "endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend"
    ).encode("ascii")


def _pdf_file(objects: Sequence[bytes]) -> bytes:
    out = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    offsets = []
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n".encode("ascii") + content + b"\nendobj\n"
    start = len(out)
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}".encode("ascii")
    out += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode("ascii")
    return bytes(out)
