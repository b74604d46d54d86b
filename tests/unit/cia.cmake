foreach(name cia_size_class_test cia_placement_test cia_subheap_test)
    mplace_unit_test(${name} ${name}.c)
    target_link_libraries(${name} PRIVATE cia_objects)
endforeach()
