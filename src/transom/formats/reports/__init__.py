"""Reports of tools: each report format is one YAML file, and one reader reads them all.

    reading = read_report(Path("sta.log"), shipped_formats())
    reading.sections[0].format          -> "opensta.log"
    reading.sections[0].measurements    -> numbers and statuses, each with scope and line
    reading.unexplained                 -> lines that no rule explains, by shape

`report_format` is the shape of the YAML file, `loading` reads and checks such files, `reader` reads
a report in one pass, and `readings` is what comes out.
"""

from transom.formats.reports.fact_interest import FactInterest
from transom.formats.reports.file_reading import holds_commands_alone
from transom.formats.reports.loading import format_of, load_format, load_formats, shipped_formats
from transom.formats.reports.reader import read_report, read_report_pieces, read_report_text
from transom.formats.reports.readings import (
    FileReading,
    Measurement,
    SectionReading,
    UnexplainedShape,
)
from transom.formats.reports.report_format import ReportFormat

__all__ = [
    "FactInterest",
    "FileReading",
    "Measurement",
    "ReportFormat",
    "SectionReading",
    "UnexplainedShape",
    "format_of",
    "holds_commands_alone",
    "load_format",
    "load_formats",
    "read_report",
    "read_report_pieces",
    "read_report_text",
    "shipped_formats",
]
