#include "app/report/report_page.hpp"

#include "io/base64.hpp"

namespace tenax::app {

namespace {

std::string escaped(const std::string& text) {
  std::string html;
  for (const char c : text)
    html += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return html;
}

/// JSON that cannot end the script element it stands in.
std::string harmless(const std::string& json) {
  std::string text;
  for (const char c : json) text += c == '<' ? "\\u003c" : std::string(1, c);
  return text;
}

std::string title_of(const std::vector<RunData>& runs) {
  std::string title = "tenax: ";
  for (const RunData& run : runs) title += (&run == &runs.front() ? "" : ", ") + escaped(run.label);
  return title;
}

/// One of the page's sections: what `part` of each run's pictures has; empty where none has any.
std::string section_html(const std::string& id, const std::string& title, const std::vector<RunData>& runs,
                         const std::vector<RunPictures>& pictures, std::string RunPictures::*part) {
  std::string html;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if ((pictures[i].*part).empty()) continue;
    if (runs.size() > 1) html += "<h3>" + escaped(runs[i].label) + "</h3>\n";
    html += pictures[i].*part;
  }
  if (html.empty()) return {};
  return "<section aria-labelledby=\"" + id + "\"><h2 id=\"" + id + "\">" + title + "</h2>\n" + html +
         "</section>\n";
}

/// As images, in which no script runs.
std::string simulations_html(const std::vector<RunData>& runs) {
  std::string html;
  for (const RunData& run : runs)
    if (!run.simulation.empty())
      html += "<img alt=\"simulated run of " + escaped(run.label) + "\" src=\"data:image/svg+xml;base64," +
              io::to_base64(run.simulation) + "\">\n";
  if (html.empty()) return {};
  return "<section aria-labelledby=\"simulation-title\"><h2 id=\"simulation-title\">At scale, "
         "simulated</h2>\n" +
         html + "</section>\n";
}

std::string decks_html(const std::vector<RunData>& runs) {
  std::string html = "<section aria-labelledby=\"deck-title\"><h2 id=\"deck-title\">Deck</h2>\n";
  if (runs.size() > 1) html += "<p>Keys in which the decks differ:</p><div id=\"deck-differences\"></div>\n";
  for (const RunData& run : runs)
    html += std::string("<details") + (runs.size() == 1 ? " open" : "") + "><summary>The resolved deck of " +
            escaped(run.label) + "</summary><pre class=\"deck\" tabindex=\"0\">" + escaped(run.deck_text) +
            "</pre></details>\n";
  return html + "</section>\n";
}

/// How the curves are drawn; the script listens.
constexpr const char* kView =
    "<form class=\"view\" id=\"view\" aria-label=\"how curves are drawn\">"
    "<label>across <select id=\"view-x\"><option value=\"step\">steps</option>"
    "<option value=\"tokens\">tokens</option><option value=\"seconds\">training "
    "time</option></select></label>"
    "<label><input type=\"checkbox\" id=\"view-log-x\"> logarithmic across</label>"
    "<label><input type=\"checkbox\" id=\"view-log-y\"> logarithmic up</label>"
    "<label>smoothing <input type=\"range\" id=\"view-smoothing\" min=\"0\" max=\"0.99\" step=\"0.01\"> "
    "<output id=\"view-smoothing-is\" for=\"view-smoothing\"></output></label></form>";

}  // namespace

std::string report_page(const std::vector<RunData>& runs, const std::vector<RunPictures>& pictures) {
  const std::string title = title_of(runs);
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         title + "</title>\n<style>\n" + kReportStyle + "</style>\n</head>\n<body>\n<main>\n<h1>" + title +
         "</h1>\n<section class=\"runs\" id=\"runs\" aria-label=\"runs\"></section>\n"
         "<noscript><p>The charts are drawn by a script of this page.</p></noscript>\n"
         "<section aria-labelledby=\"curves-title\"><h2 id=\"curves-title\">Training</h2>" +
         kView +
         "<div class=\"charts\" id=\"charts\"></div></section>\n"
         "<section aria-labelledby=\"events-title\"><h2 id=\"events-title\">Events</h2>"
         "<div class=\"charts\" id=\"events\"></div></section>\n" +
         section_html("time-title", "Effective time", runs, pictures, &RunPictures::time) +
         section_html("pipeline-title", "Pipeline of the last profiled step", runs, pictures,
                      &RunPictures::pipeline) +
         simulations_html(runs) + decks_html(runs) +
         "</main>\n<script type=\"application/json\" id=\"data\">" + harmless(chart_data_json(runs)) +
         "</script>\n<script>\n" + kReportCharts + "</script>\n<script>\n" + kReportPage +
         "</script>\n</body>\n</html>\n";
}

}  // namespace tenax::app
