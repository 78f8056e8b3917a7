# Writes OUT, a source file that says which commit SOURCE is, and OUT.d, what that depends on. An archive that git made
# says it in the next line; else git is asked, but not about a repository that SOURCE merely lies in.
set(commit "$Format:%H$")
set(log "")
if(NOT commit MATCHES "^[0-9a-f]+$")
  set(commit "")
  execute_process(COMMAND git -C ${SOURCE} rev-parse --show-prefix
    RESULT_VARIABLE status OUTPUT_VARIABLE prefix ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(status EQUAL 0 AND prefix STREQUAL "")
    execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=40 --exclude=*
      OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    # Every commit and every change of branch adds a line to it.
    execute_process(COMMAND git -C ${SOURCE} rev-parse --git-path logs/HEAD
      WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE log ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    get_filename_component(log "${log}" ABSOLUTE BASE_DIR ${SOURCE})
    if(NOT EXISTS "${log}")
      set(log "")
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT [[
#include "app/build.hpp"

const char* tenax::app::build_commit() { return "@commit@"; }
]] @ONLY)
string(REPLACE " " "\\ " log "${log}")
file(WRITE ${OUT}.d "${OUT}: ${log}\n")
