# What statistics.c needs beside itself; the unit tests include this file too.
set(MPLACE_LOCK_STATISTICS_SOURCES)
foreach(part lock_table lock_table_pool lock_ranking statistics_report statistics_text statistics_json)
    list(APPEND MPLACE_LOCK_STATISTICS_SOURCES ${CMAKE_SOURCE_DIR}/src/mutex/${part}.c)
endforeach()
