# The malloc family as glibc promises it: each program without a library, under cia, under cia with
# packed blocks, by sequences and under locks, in hardened mode, and, where it runs threads, under cia +
# ttstle. The program is the same; only what serves it differs.
add_library(malloc_plugin MODULE malloc_plugin.c)
target_compile_options(malloc_plugin PRIVATE -fno-builtin)
set_target_properties(malloc_plugin PROPERTIES PREFIX "" C_VISIBILITY_PRESET default
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/plugins)

function(mplace_malloc_test claim program threaded)
    set(runs glibc cia cia.compact cia.compact.locks cia.hardened)
    if(threaded)
        list(APPEND runs cia+ttstle)
    endif()
    foreach(run ${runs})
        set(name preload.malloc.${claim}.${run})
        if(run STREQUAL "glibc")
            set(preload "")
        elseif(run STREQUAL "cia+ttstle")
            set(preload $<TARGET_FILE:cia_malloc>:$<TARGET_FILE:ttstle_lock>)
        else()
            set(preload $<TARGET_FILE:cia_malloc>)
        endif()
        set(settings CIA_LINES=auto)
        if(run MATCHES compact)
            set(settings CIA_LINES=compact)
        endif()
        if(run MATCHES locks)
            list(APPEND settings CIA_RSEQ=0)
        endif()
        set(label preload)
        if(run MATCHES hardened)
            list(APPEND settings CIA_HARDEN=1)
            if(program MATCHES "limit|blocks|fork") # ten seconds each, for the mappings of long blocks
                set(label soak)
            endif()
        endif()
        add_test(NAME ${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/malloc_test.sh "${preload}"
                                      $<TARGET_FILE:${program}> ${ARGN})
        set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 120 SKIP_RETURN_CODE 77
                                                ENVIRONMENT "${settings}")
    endforeach()
endfunction()

mplace_test_plugins(htm_native)
foreach(program impossible commit errno alignment blocks threads fork limit gather introspection sized lifetime cpus lockall lines
                sparse)
    add_executable(malloc_${program} malloc_${program}.c)
    # The compiler must not judge by what it knows of malloc: these programs ask for the impossible.
    target_compile_options(malloc_${program} PRIVATE -fno-builtin)
    target_link_libraries(malloc_${program} PRIVATE pthread ${CMAKE_DL_LIBS})
    set_target_properties(malloc_${program} PROPERTIES
                          RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endforeach()

mplace_malloc_test(impossible_requests_fail_with_enomem_and_change_nothing malloc_impossible OFF)
mplace_malloc_test(what_the_kernel_never_commits_is_enomem_and_changes_nothing malloc_commit OFF)
mplace_malloc_test(success_leaves_errno_alone malloc_errno OFF)
mplace_malloc_test(blocks_are_aligned_to_16_bytes_and_to_what_was_asked malloc_alignment OFF)
foreach(harden 0 1) # an L1 of 128 sets: an alignment of two pages is a cycle of colours
    set(name preload.malloc.blocks_are_aligned_where_there_are_128_sets.harden_${harden})
    add_test(NAME ${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/malloc_test.sh $<TARGET_FILE:cia_malloc>
                                  $<TARGET_FILE:malloc_alignment>)
    set_tests_properties(${name} PROPERTIES LABELS preload TIMEOUT 120
                                            ENVIRONMENT "MPLACE_L1D=128x16;CIA_HARDEN=${harden}")
endforeach()
mplace_malloc_test(blocks_have_their_bytes_and_realloc_keeps_them malloc_blocks OFF)
mplace_malloc_test(a_long_zeroed_block_takes_memory_where_it_is_touched malloc_sparse OFF)
mplace_malloc_test(blocks_belong_to_the_process_and_not_to_a_thread malloc_threads ON)
mplace_malloc_test(fork_at_any_moment_leaves_an_allocator_that_works malloc_fork ON)
mplace_malloc_test(a_limit_of_the_address_space_is_enomem_and_passes malloc_limit ON)
mplace_malloc_test(what_is_free_is_gathered_before_a_call_fails malloc_gather OFF)
mplace_malloc_test(introspection_answers_and_advice_is_taken malloc_introspection ON)
mplace_malloc_test(sized_frees_free malloc_sized OFF)
mplace_malloc_test(memory_follows_the_cpus_that_are_used malloc_cpus ON)
mplace_malloc_test(allocation_works_from_first_constructor_to_last_destructor malloc_lifetime ON
                   $<TARGET_FILE:malloc_plugin>)

# CIA_LINES=auto, with each kind of lock library: the claim, what is preloaded with cia, and how blocks lie.
foreach(claim "a_class_of_which_many_live_is_packed;;packed"
              "it_is_under_locks_without_transactions;$<TARGET_FILE:tts_lock>;packed"
              "where_transactions_commit_blocks_keep_their_lines;$<TARGET_FILE:htm_native>;exclusive")
    list(GET claim 0 name)
    list(GET claim 1 beside)
    list(GET claim 2 kind)
    string(JOIN ":" preload $<TARGET_FILE:cia_malloc> ${beside})
    add_test(NAME preload.malloc.${name}
             COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/malloc_test.sh "${preload}" $<TARGET_FILE:malloc_lines> ${kind})
    set_tests_properties(preload.malloc.${name} PROPERTIES LABELS preload TIMEOUT 60)
endforeach()

foreach(run glibc cia bank) # cia's hardened mode needs more than is left of the limit
    set(preload $<$<STREQUAL:${run},cia>:$<TARGET_FILE:cia_malloc>>$<$<STREQUAL:${run},bank>:$<TARGET_FILE:bank_malloc>>)
    add_test(NAME preload.malloc.a_program_that_locks_all_memory_under_a_narrow_limit_allocates.${run}
             COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/malloc_test.sh "${preload}" $<TARGET_FILE:malloc_lockall>)
    set_tests_properties(preload.malloc.a_program_that_locks_all_memory_under_a_narrow_limit_allocates.${run}
                         PROPERTIES LABELS preload TIMEOUT 60
                                    ENVIRONMENT "BANK_MAP=tilepro64;BANK_PHYSICAL=simulated")
endforeach()

add_test(NAME preload.the_libraries_take_few_bytes_of_static_tls_and_no_rseq_registration
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/footprint_test.sh ${CMAKE_SOURCE_DIR}
                 $<TARGET_FILE:bank_malloc> $<TARGET_FILE:cia_malloc> $<TARGET_FILE:rand_malloc>
                 $<TARGET_FILE:tts_lock> $<TARGET_FILE:ttstle_lock>)
set_tests_properties(preload.the_libraries_take_few_bytes_of_static_tls_and_no_rseq_registration
                     PROPERTIES LABELS preload TIMEOUT 60 SKIP_RETURN_CODE 77)

include(CheckLanguage)
check_language(CXX)
if(CMAKE_CXX_COMPILER)
    enable_language(CXX)
    # The warnings of the tree name some that are for C alone.
    set(cxx_options "-Wall;-Wextra;$<$<BOOL:${MPLACE_WERROR}>:-Werror>;-fno-builtin")
    add_library(malloc_new_elsewhere SHARED malloc_new_elsewhere.cpp)
    set_target_properties(malloc_new_elsewhere PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    foreach(program new new_failure new_linked)
        add_executable(malloc_${program} malloc_${program}.cpp)
        target_link_libraries(malloc_${program} PRIVATE pthread)
        set_target_properties(malloc_${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    endforeach()
    foreach(target malloc_new_elsewhere malloc_new malloc_new_failure malloc_new_linked)
        target_compile_features(${target} PRIVATE cxx_std_17)
        target_compile_options(${target} PRIVATE "${cxx_options}")
    endforeach()
    target_link_libraries(malloc_new_linked PRIVATE malloc_new_elsewhere)
    mplace_malloc_test(operator_new_aligns_and_throws malloc_new ON)
    mplace_malloc_test(operator_new_without_memory_asks_the_handler_and_throws malloc_new_failure OFF)
    mplace_malloc_test(blocks_of_an_allocator_that_is_linked_go_back_to_it malloc_new_linked OFF)
else()
    add_test(NAME preload.malloc.operator_new_aligns_and_throws
             COMMAND sh -c "echo 'skipped: there was no C++ compiler to build it; install g++'; exit 77")
    set_tests_properties(preload.malloc.operator_new_aligns_and_throws
                         PROPERTIES LABELS preload SKIP_RETURN_CODE 77)
endif()
