# What is made of the layers: libbelay (static and shared), the command, and their installation.

set(BELAY_VERSION_SCRIPT ${CMAKE_SOURCE_DIR}/cmake/libbelay.map)
set(BELAY_JOBS_VERSION_SCRIPT ${CMAKE_SOURCE_DIR}/cmake/libbelay-jobs.map)

# belay_library(LAYERS...): libbelay.a and libbelay.so of the objects of those layers.
function(belay_library)
    set(objects)
    foreach(layer IN LISTS ARGN)
        list(APPEND objects $<TARGET_OBJECTS:bly_${layer}>)
    endforeach()
    add_library(belay_static STATIC ${objects})
    add_library(belay_shared SHARED ${objects})
    foreach(library belay_static belay_shared)
        target_include_directories(${library} PUBLIC
            $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
        target_link_libraries(${library} PRIVATE $<BUILD_INTERFACE:belay_options>)
        set_target_properties(${library} PROPERTIES LINKER_LANGUAGE C)
    endforeach()
    target_link_libraries(belay_static PUBLIC Threads::Threads)
    set_target_properties(belay_static PROPERTIES OUTPUT_NAME belay EXPORT_NAME static)
    # While the version is 0.x, each minor version has an ABI of its own.
    set_target_properties(belay_shared PROPERTIES OUTPUT_NAME belay EXPORT_NAME belay
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
        LINK_DEPENDS ${BELAY_VERSION_SCRIPT})
    target_link_options(belay_shared PRIVATE -Wl,--version-script=${BELAY_VERSION_SCRIPT})
endfunction()

# belay_model_library(LAYERS...): libbelay_model.a, the same sources over the explorer. Their variables
# that live as long as the process are gathered in one section, which the explorer sets back before
# each execution, as if a new process began.
function(belay_model_library)
    set(objects)
    foreach(layer IN LISTS ARGN ITEMS testkit)
        list(APPEND objects $<TARGET_OBJECTS:bly_${layer}>)
    endforeach()
    set(renames)
    foreach(section .data .bss .data.rel .data.rel.local)
        list(APPEND renames --set-section-flags ${section}=alloc,load,data,contents
            --rename-section ${section}=bly_process,alloc,load,data,contents)
    endforeach()
    set(core ${CMAKE_BINARY_DIR}/belay_model_core.o)
    add_custom_command(OUTPUT ${core}
        COMMAND ${CMAKE_LINKER} -r -o ${core}.tmp ${objects}
        COMMAND ${CMAKE_OBJCOPY} ${renames} ${core}.tmp ${core}
        DEPENDS ${objects} COMMAND_EXPAND_LISTS VERBATIM)
    add_library(belay_model STATIC ${core} $<TARGET_OBJECTS:bly_explorer>)
    set_source_files_properties(${core} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    target_link_libraries(belay_model PUBLIC $<BUILD_INTERFACE:belay_options> Threads::Threads)
    target_include_directories(belay_model PUBLIC
        $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_compile_definitions(belay_model PUBLIC $<INSTALL_INTERFACE:BELAY_MODEL=1>)
    set_target_properties(belay_model PROPERTIES EXPORT_NAME model LINKER_LANGUAGE C)
endfunction()

# belay_test_library(): libbelay-test.a, the test kit. It brings the layers that it needs beneath the
# public headers, so that it also works with libbelay.so, which shows none of them.
function(belay_test_library)
    add_library(belay_test STATIC
        $<TARGET_OBJECTS:bly_testkit> $<TARGET_OBJECTS:bly_sync> $<TARGET_OBJECTS:bly_base>)
    set_target_properties(belay_test PROPERTIES
        OUTPUT_NAME belay-test EXPORT_NAME test LINKER_LANGUAGE C)
    target_link_libraries(belay_test PUBLIC Threads::Threads PRIVATE $<BUILD_INTERFACE:belay_options>)
    target_include_directories(belay_test PUBLIC
        $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

# belay_jobs_library(): libbelay-jobs.so, durable jobs. It brings base and sync, which hold no state
# that a second copy could contradict, and uses the rest of libbelay through its public headers. There
# is no archive of it: two copies of SQLite in one process break each other's locks.
function(belay_jobs_library)
    add_library(belay_jobs SHARED)
    target_link_libraries(belay_jobs PUBLIC belay_shared
        PRIVATE bly_jobs bly_store bly_sync bly_base belay_options)
    set_target_properties(belay_jobs PROPERTIES LINKER_LANGUAGE C
        OUTPUT_NAME belay-jobs EXPORT_NAME jobs
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
        LINK_DEPENDS ${BELAY_JOBS_VERSION_SCRIPT})
    target_link_options(belay_jobs PRIVATE
        -Wl,--version-script=${BELAY_JOBS_VERSION_SCRIPT} -Wl,--no-undefined)
endfunction()

# belay_command(): the command, from src/cli and src/proc, over libbelay and libbelay-jobs. It is linked
# with the archive and the objects, for a start without the dynamic linker's work on libraries of
# ours; so there is one SQLite in it, as there has to be.
function(belay_command)
    add_executable(belay)
    target_link_libraries(belay PRIVATE bly_cli bly_proc bly_jobs bly_store belay_static belay_options)
    set_target_properties(belay PROPERTIES LINKER_LANGUAGE C)
endfunction()

# belay_install_service(): a worker as a systemd service of a user. The command's path in it is known
# only when it is installed.
function(belay_install_service)
    install(CODE "set(BELAY_INSTALLED_COMMAND \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/belay\")
        configure_file(\"${CMAKE_SOURCE_DIR}/systemd/belay-work.service.in\"
            \"${CMAKE_BINARY_DIR}/belay-work.service\" @ONLY)")
    install(FILES ${CMAKE_BINARY_DIR}/belay-work.service DESTINATION lib/systemd/user)
endfunction()

# belay_install_package(EXPORT PACKAGES...): headers, the CMake package with the targets of EXPORT, and
# the files of pkg-config. A release and the explorer may be installed under one prefix, or one alone.
function(belay_install_package export)
    include(CMakePackageConfigHelpers)
    set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/belay)
    install(DIRECTORY include/belay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
    install(EXPORT ${export} NAMESPACE belay:: DESTINATION ${package_dir})
    install(FILES cmake/belayConfig.cmake DESTINATION ${package_dir})
    write_basic_package_version_file(${CMAKE_BINARY_DIR}/belayConfigVersion.cmake
        COMPATIBILITY SameMinorVersion)
    install(FILES ${CMAKE_BINARY_DIR}/belayConfigVersion.cmake DESTINATION ${package_dir})
    file(RELATIVE_PATH BELAY_PC_TO_PREFIX
        ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
    foreach(package IN LISTS ARGN)
        configure_file(cmake/${package}.pc.in ${CMAKE_BINARY_DIR}/${package}.pc @ONLY)
        install(FILES ${CMAKE_BINARY_DIR}/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    endforeach()
endfunction()

# belay_install(): libraries, headers, pkg-config files, CMake package, command, man pages.
function(belay_install)
    install(TARGETS belay_static belay_shared belay_test EXPORT belayTargets)
    if(TARGET belay_jobs)
        install(TARGETS belay_jobs EXPORT belayTargets)
        list(APPEND packages belay-jobs)
    endif()
    belay_install_package(belayTargets belay belay-test ${packages})
    if(TARGET belay)
        install(TARGETS belay)
        belay_install_service()
    endif()
    foreach(section 1 3 7)
        file(GLOB pages CONFIGURE_DEPENDS docs/man/*.${section})
        install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
    endforeach()
endfunction()

# belay_install_model(): the explorer in place of libbelay, for the tests of other programs.
function(belay_install_model)
    install(TARGETS belay_model EXPORT belayModelTargets)
    belay_install_package(belayModelTargets belay-model)
endfunction()
