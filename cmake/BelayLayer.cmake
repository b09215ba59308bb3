# One object library a layer, all compiled with the same options.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# No -DNDEBUG: assertions of the first level stay in what users get.
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")

find_package(Threads REQUIRED)

# Everything in the tree links this: warnings, language, sanitizers.
add_library(belay_options INTERFACE)
target_include_directories(belay_options INTERFACE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
target_compile_definitions(belay_options INTERFACE _GNU_SOURCE
    $<$<BOOL:${BELAY_DEBUG}>:BELAY_DEBUG=1> $<$<BOOL:${BELAY_MODEL}>:BELAY_MODEL=1>)
target_compile_options(belay_options INTERFACE
    -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith
    -Wwrite-strings -Wundef -Wvla -Wconversion -Wno-sign-conversion -fno-common
    $<$<C_COMPILER_ID:Clang>:-Wno-string-conversion>
    -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=
    $<$<BOOL:${BELAY_WERROR}>:-Werror>)
target_link_libraries(belay_options INTERFACE Threads::Threads)
if(BELAY_SANITIZE)
    target_compile_options(belay_options INTERFACE
        -fsanitize=${BELAY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(belay_options INTERFACE -fsanitize=${BELAY_SANITIZE})
endif()
if(BELAY_COVERAGE)
    target_compile_options(belay_options INTERFACE --coverage -fprofile-update=atomic)
    target_link_options(belay_options INTERFACE --coverage)
endif()

# belay_layer(NAME SOURCES...): the objects of src/NAME as bly_NAME; as bly_NAME_archive for those
# programs that want only what they call (a test program brings a main of its own).
function(belay_layer name)
    add_library(bly_${name} OBJECT ${ARGN})
    target_link_libraries(bly_${name} PRIVATE belay_options)
    set_target_properties(bly_${name} PROPERTIES
        POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
    add_library(bly_${name}_archive STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:bly_${name}>)
    set_target_properties(bly_${name}_archive PROPERTIES LINKER_LANGUAGE C)
endfunction()
