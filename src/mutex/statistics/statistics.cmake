# What statistics.c needs beside itself; the unit tests include this file too. The parts know
# nothing of statistics.c.
set(MPLACE_LOCK_STATISTICS_PARTS)
foreach(part lock_table lock_table_pool lock_ranking text json)
    list(APPEND MPLACE_LOCK_STATISTICS_PARTS ${CMAKE_SOURCE_DIR}/src/mutex/statistics/${part}.c)
endforeach()
set(MPLACE_LOCK_STATISTICS_SOURCES ${MPLACE_LOCK_STATISTICS_PARTS}
                                   ${CMAKE_SOURCE_DIR}/src/mutex/statistics/report.c)
