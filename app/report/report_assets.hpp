// The page's style and scripts, the files of app/report/, which the build makes part of the program.
#pragma once

namespace tenax::app {

extern const char* const kReportStyle;
extern const char* const kReportCharts;
extern const char* const kReportPage;  ///< after kReportCharts

}  // namespace tenax::app
