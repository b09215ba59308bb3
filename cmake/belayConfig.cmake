# find_package(belay): belay::belay is the shared library, belay::static the archive,
# belay::test the test kit, which goes with either.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/belayTargets.cmake")
