# What every target of ours shares. A module is a static library named servegrid_<folder> with sources relative to it.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(servegrid_options INTERFACE)
target_compile_features(servegrid_options INTERFACE cxx_std_20)
# Warnings are ours, not those of who links us; no contraction, so that results are the same bytes everywhere.
target_compile_options(servegrid_options INTERFACE $<BUILD_INTERFACE:-Wall> $<BUILD_INTERFACE:-Wextra> -ffp-contract=off)
target_include_directories(servegrid_options INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/sim>
                                                       $<INSTALL_INTERFACE:include/servegrid>)

# servegrid_module(NAME SOURCES a.cpp ... [USES other modules] [PRIVATE third-party targets])
function(servegrid_module name)
  cmake_parse_arguments(M "" "" "SOURCES;USES;PRIVATE" ${ARGN})
  add_library(servegrid_${name} STATIC ${M_SOURCES})
  target_link_libraries(servegrid_${name} PUBLIC servegrid_options)
  foreach(u IN LISTS M_USES)
    target_link_libraries(servegrid_${name} PUBLIC servegrid_${u})
  endforeach()
  target_link_libraries(servegrid_${name} PRIVATE ${M_PRIVATE})
endfunction()
