mplace_report_tests(compare_order
    every_round_has_each_job_under_each_allocator_once
    the_allocators_of_a_job_follow_each_other
    rounds_differ_in_their_order
    the_same_seed_gives_the_same_order
    more_rounds_begin_with_the_fewer)
