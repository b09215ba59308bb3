# find_package(belay): belay::belay is the shared library, belay::static the archive.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/belayTargets.cmake")
