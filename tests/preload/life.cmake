# The life cycle of processes under the libraries: their beginning and end, threads, children,
# handlers, libraries that come and go, and the places where a process may find itself. Programs of
# this file run plainly too. docs/trust.md says which row of what can happen is tested where.
set(life_programs worker children threads exit handler libraries opened deepbind own_allocator refuse)
foreach(program ${life_programs})
    add_executable(life_${program} life_${program}.c)
    target_compile_options(life_${program} PRIVATE -fno-builtin)
    target_link_libraries(life_${program} PRIVATE pthread ${CMAKE_DL_LIBS})
    set_target_properties(life_${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endforeach()
set_target_properties(life_own_allocator PROPERTIES C_VISIBILITY_PRESET default)
mplace_test_plugins(life_edge life_audit life_deepbind_plugin life_hook_clock life_hook_kernel
                     life_hook_syscall)
target_link_libraries(life_edge PRIVATE pthread)
target_link_libraries(life_deepbind_plugin PRIVATE pthread)
set_target_properties(life_deepbind_plugin PROPERTIES BUILD_RPATH "$ORIGIN")
foreach(copy 1 2) # the loader takes one file once
    add_library(life_edge_${copy} MODULE life_edge.c)
    target_compile_options(life_edge_${copy} PRIVATE -fno-builtin)
    set_target_properties(life_edge_${copy} PROPERTIES PREFIX "" C_VISIBILITY_PRESET default
                          LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/plugins)
endforeach()

# All four libraries in one program, for where no variable can bring them.
add_executable(life_linked life_worker.c)
target_compile_options(life_linked PRIVATE -fno-builtin)
target_link_libraries(life_linked PRIVATE -Wl,--no-as-needed rand_malloc cia_malloc tts_lock ttstle_lock
                                          -Wl,--as-needed pthread ${CMAKE_DL_LIBS})
set_target_properties(life_linked PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

# The worker where no library reaches it, as far as there are compilers for that. They are built by
# a command of their own: another libc and another word size have nothing in common with the tree.
set(life_folder ${CMAKE_BINARY_DIR}/tests)
set(life_source ${CMAKE_CURRENT_SOURCE_DIR}/life_worker.c)
set(life_flags -std=gnu11 -O1 -fno-builtin -D_GNU_SOURCE -pthread)
find_program(MPLACE_MUSL_GCC musl-gcc)
set(life_alone)
# life_other(NAME COMPILER FLAG...): if the compiler can.
function(life_other name compiler)
    if(NOT compiler)
        return()
    endif()
    set(probe ${CMAKE_BINARY_DIR}/CMakeFiles/life_probe)
    file(WRITE ${probe}.c "#include <pthread.h>\nint main(void) { return 0; }\n")
    execute_process(COMMAND ${compiler} ${ARGN} -pthread ${probe}.c -o ${probe} RESULT_VARIABLE failed
                    OUTPUT_QUIET ERROR_QUIET)
    if(failed)
        return()
    endif()
    add_custom_command(OUTPUT ${life_folder}/${name}
                       COMMAND ${compiler} ${life_flags} ${ARGN} ${life_source} -o ${life_folder}/${name}
                       DEPENDS ${life_source} ${CMAKE_CURRENT_SOURCE_DIR}/expect.h VERBATIM)
    set(life_alone ${life_alone} ${life_folder}/${name} PARENT_SCOPE)
endfunction()
life_other(life_worker_static "${CMAKE_C_COMPILER}" -static -DLIFE_ALONE)
life_other(life_worker_static_pie "${CMAKE_C_COMPILER}" -static-pie -DLIFE_ALONE)
life_other(life_worker_32 "${CMAKE_C_COMPILER}" -m32 -DLIFE_ALONE)
life_other(life_worker_asan "${CMAKE_C_COMPILER}" -fsanitize=address)
life_other(life_worker_musl "${MPLACE_MUSL_GCC}")
life_other(life_worker_musl_static "${MPLACE_MUSL_GCC}" -static -DLIFE_ALONE)
if(life_alone)
    add_custom_target(life_others ALL DEPENDS ${life_alone})
endif()

# life_run(NAME LABEL TIMEOUT "LIBRARIES" "SETTINGS" PROGRAM [ARG...])
function(life_run name label timeout libraries settings program)
    add_test(NAME ${label}.life.${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/malloc_test.sh
                                                "${libraries}" $<TARGET_FILE:${program}> ${ARGN})
    set_tests_properties(${label}.life.${name} PROPERTIES LABELS ${label} TIMEOUT ${timeout}
                                               SKIP_RETURN_CODE 77 ENVIRONMENT "${settings}")
endfunction()

# life_test(CLAIM LABEL TIMEOUT PROGRAM [ARG...]): plainly and under each library.
function(life_test claim label timeout program)
    life_run(${claim}.glibc ${label} ${timeout} "" "" ${program} ${ARGN})
    life_run(${claim}.cia ${label} ${timeout} $<TARGET_FILE:cia_malloc> "CIA_RSEQ=1" ${program} ${ARGN})
    life_run(${claim}.cia.locks ${label} ${timeout} $<TARGET_FILE:cia_malloc> "CIA_RSEQ=0" ${program} ${ARGN})
    life_run(${claim}.rand ${label} ${timeout} $<TARGET_FILE:rand_malloc> "" ${program} ${ARGN})
    life_run(${claim}.bank ${label} ${timeout} $<TARGET_FILE:bank_malloc>
             "BANK_MAP=skylake-2channels;BANK_PHYSICAL=simulated" ${program} ${ARGN})
    life_run(${claim}.tts ${label} ${timeout} $<TARGET_FILE:tts_lock> "" ${program} ${ARGN})
    life_run(${claim}.ttstle ${label} ${timeout} $<TARGET_FILE:ttstle_lock> "" ${program} ${ARGN})
    life_run(${claim}.cia+ttstle ${label} ${timeout} $<TARGET_FILE:cia_malloc>:$<TARGET_FILE:ttstle_lock>
             "" ${program} ${ARGN})
endfunction()

life_test(all_threads_fork_spawn_allocate_and_lock_and_no_child_waits preload 300 life_children 150)
life_test(ten_thousand_children_of_threads_that_allocate_and_lock soak 7200 life_children 10000)
life_test(threads_come_and_go_in_bounded_memory_while_others_free_their_blocks preload 120 life_threads 6000)
life_test(a_hundred_thousand_threads_come_and_go_in_bounded_memory soak 3600 life_threads 100000)
life_test(a_process_ends_in_any_way_from_any_thread preload 300 life_exit)
set(life_edges $<TARGET_FILE:life_edge> $<TARGET_FILE:life_edge_1> $<TARGET_FILE:life_edge_2>)
life_test(libraries_that_allocate_and_lock_come_and_go_in_many_threads preload 120 life_libraries 60
          ${life_edges})
life_test(libraries_come_and_go_in_many_threads_for_long soak 1200 life_libraries 5000 ${life_edges})
life_test(a_library_bound_deeply_shares_blocks_and_mutexes_with_its_program preload 120 life_deepbind
          $<TARGET_FILE:life_deepbind_plugin> life_edge.so)
life_run(a_library_bound_deeply_shares_blocks_and_mutexes_with_its_program.ttstle+cia preload 120
         $<TARGET_FILE:ttstle_lock>:$<TARGET_FILE:cia_malloc> "" life_deepbind
         $<TARGET_FILE:life_deepbind_plugin> life_edge.so)
life_test(a_program_with_an_allocator_of_its_own_keeps_to_it preload 60 life_own_allocator)
life_run(a_program_may_load_our_libraries_itself_and_unload_them preload 60 "" "" life_opened
         $<TARGET_FILE:cia_malloc> $<TARGET_FILE:rand_malloc> $<TARGET_FILE:tts_lock>
         $<TARGET_FILE:ttstle_lock>)

# A handler at any instruction: with glibc that is undefined, and in sequences interrupted.c's matter.
foreach(lines exclusive compact)
    set(name preload.life.a_handler_allocates_at_any_instruction_of_the_allocator.cia.${lines})
    add_test(NAME ${name} COMMAND ${CMAKE_SOURCE_DIR}/tests/fuzz/interrupted_test.sh
                                  ${CMAKE_CURRENT_SOURCE_DIR}/malloc_test.sh $<TARGET_FILE:cia_malloc>
                                  $<TARGET_FILE:life_handler>)
    set_tests_properties(${name} PROPERTIES LABELS preload TIMEOUT 450 SKIP_RETURN_CODE 77
                                            ENVIRONMENT "CIA_RSEQ=0;CIA_LINES=${lines}")
endforeach()

# life_script(NAME SCRIPT [ARG...])
function(life_script name script)
    add_test(NAME preload.life.${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${CMAKE_BINARY_DIR}/lib
                                               ${ARGN})
    set_tests_properties(preload.life.${name} PROPERTIES LABELS preload TIMEOUT 300 SKIP_RETURN_CODE 77)
endfunction()

foreach(case
        closed_standard_streams
        a_file_that_has_the_number_of_standard_error
        no_file_descriptor
        no_environment
        binding_at_once
        no_new_privileges
        no_sequences_by_a_tunable
        full_disk_and_file_size_limit
        system_calls_refused
        long_mappings_refused
        a_root_without_proc_and_sys
        all_libraries_in_every_order
        one_library_twice
        another_allocator_behind_ours
        functions_of_libc_that_allocate_and_lock_in_another_library
        a_program_built_with_address_sanitizer
        an_audit_library_that_allocates
        static_programs
        static_pie_programs
        static_musl_programs
        musl_programs
        programs_of_32_bits)
    life_script(it_works_or_says_why_not_with.${case} life_places_test.sh ${CMAKE_BINARY_DIR}/tests ${case})
endforeach()
life_script(a_program_with_more_rights_than_its_user_reads_no_setting life_secure_test.sh
            $<TARGET_FILE:life_linked> $<TARGET_FILE:life_worker>)
life_script(a_variable_that_nearly_is_a_setting_gets_one_line life_mistyped_test.sh $<TARGET_FILE:life_worker>)
life_script(a_report_goes_to_a_file_of_the_user_and_to_nothing_planted life_report_test.sh
            $<TARGET_FILE:life_worker>)

add_test(NAME preload.life.sources_use_no_fixed_temporary_name_and_no_unsafe_getenv
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/life_sources_test.sh ${CMAKE_SOURCE_DIR})
set_tests_properties(preload.life.sources_use_no_fixed_temporary_name_and_no_unsafe_getenv
                     PROPERTIES LABELS preload TIMEOUT 60)

if(CMAKE_CXX_COMPILER) # lock.cmake has looked for it
    add_executable(life_edge_program life_edge_program.cpp)
    add_library(life_edge_linked SHARED life_edge.c)
    target_compile_options(life_edge_linked PRIVATE -fno-builtin)
    set_target_properties(life_edge_linked PROPERTIES PREFIX "" OUTPUT_NAME life_edge C_VISIBILITY_PRESET default
                          LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    target_link_libraries(life_edge_program PRIVATE life_edge_linked pthread)
    set_target_properties(life_edge_program PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON
                          RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    life_script(allocation_and_locks_work_before_our_constructors_and_after_our_destructors
                life_edge_test.sh $<TARGET_FILE:life_edge_program>)
else()
    add_test(NAME preload.life.allocation_and_locks_work_before_our_constructors_and_after_our_destructors
             COMMAND sh -c "echo 'skipped: there was no C++ compiler to build it; install g++'; exit 77")
    set_tests_properties(
        preload.life.allocation_and_locks_work_before_our_constructors_and_after_our_destructors
        PROPERTIES LABELS preload SKIP_RETURN_CODE 77)
endif()
