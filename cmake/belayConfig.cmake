# find_package(belay): belay::belay is the shared library, belay::static the archive,
# belay::test the test kit, which goes with either; belay::jobs durable jobs, where they were built;
# belay::model, alone, is the explorer.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
foreach(targets belayTargets belayModelTargets)
    include("${CMAKE_CURRENT_LIST_DIR}/${targets}.cmake" OPTIONAL)
endforeach()
