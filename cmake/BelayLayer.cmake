# One object library a layer, and the products made of them.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_package(Threads REQUIRED)

add_library(belay_options INTERFACE)
target_include_directories(belay_options INTERFACE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
target_compile_definitions(belay_options INTERFACE _GNU_SOURCE)
target_compile_options(belay_options INTERFACE
    -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith
    -Wwrite-strings -Wundef -Wvla -Wconversion -Wno-sign-conversion -fno-common)
target_link_libraries(belay_options INTERFACE Threads::Threads)

# belay_layer(NAME SOURCES...): the objects of src/NAME, as bly_NAME.
function(belay_layer name)
    add_library(bly_${name} OBJECT ${ARGN})
    target_link_libraries(bly_${name} PRIVATE belay_options)
    set_target_properties(bly_${name} PROPERTIES
        POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
endfunction()

# belay_library(LAYERS...): libbelay.a of the objects of those layers that exist.
function(belay_library)
    set(objects)
    foreach(layer IN LISTS ARGN)
        if(TARGET bly_${layer})
            list(APPEND objects $<TARGET_OBJECTS:bly_${layer}>)
        endif()
    endforeach()
    if(NOT objects)
        return()
    endif()
    add_library(belay_static STATIC ${objects})
    set_target_properties(belay_static PROPERTIES OUTPUT_NAME belay)
    target_link_libraries(belay_static PUBLIC belay_options)
endfunction()

# belay_command(): the command, from src/cli and src/proc, over libbelay.
function(belay_command)
    if(NOT TARGET bly_cli OR NOT TARGET bly_proc)
        return()
    endif()
    add_executable(belay $<TARGET_OBJECTS:bly_cli> $<TARGET_OBJECTS:bly_proc>)
    target_link_libraries(belay PRIVATE belay_static belay_options)
endfunction()
