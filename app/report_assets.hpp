// The page's style and script, app/report/report.css and report.js, which the build makes part of the program.
#pragma once

namespace tenax::app {

extern const char* const kReportStyle;
extern const char* const kReportScript;

}  // namespace tenax::app
