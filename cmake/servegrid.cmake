# What every target of ours shares. A module is a static library named servegrid_<folder> with sources relative to it.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(servegrid_options INTERFACE)
target_compile_features(servegrid_options INTERFACE cxx_std_20)
# Warnings are ours, not those of who links us; no contraction, so that results are the same bytes everywhere.
target_compile_options(servegrid_options INTERFACE $<BUILD_INTERFACE:-Wall> $<BUILD_INTERFACE:-Wextra> -ffp-contract=off)
target_include_directories(servegrid_options INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/sim>
                                                       $<INSTALL_INTERFACE:include/servegrid>)

# What a simulation runs through is a hundred small functions in as many files: compiled as one program they cost a
# fifth less. Their objects hold ordinary code as well, so that tests link as fast as before.
set(_whole_program OFF)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(_whole_program ON)
endif()
# servegrid_link(TARGET whole|parts)
function(servegrid_link target how)
  if(_whole_program)
    target_link_options(${target} PRIVATE $<IF:$<STREQUAL:${how},whole>,-flto=auto,-fno-lto>)
  endif()
endfunction()

# servegrid_module(NAME [HOT] SOURCES a.cpp ... [USES other modules] [PRIVATE third-party targets]); HOT: of every event
function(servegrid_module name)
  cmake_parse_arguments(M "HOT" "" "SOURCES;USES;PRIVATE" ${ARGN})
  add_library(servegrid_${name} STATIC ${M_SOURCES})
  target_link_libraries(servegrid_${name} PUBLIC servegrid_options)
  foreach(u IN LISTS M_USES)
    target_link_libraries(servegrid_${name} PUBLIC servegrid_${u})
  endforeach()
  target_link_libraries(servegrid_${name} PRIVATE ${M_PRIVATE})
  if(M_HOT AND _whole_program)
    target_compile_options(servegrid_${name} PRIVATE -flto -ffat-lto-objects)
  endif()
endfunction()
