# Installs the command, its SimGrid plugin, the library with headers, and the data; `find_package(servegrid)` finds them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(servegrid INTERFACE)
add_library(servegrid::servegrid ALIAS servegrid)
set(_modules)
foreach(m units catalog model roofline memory workload engine metrics cluster jobs import study plan calibrate validate)
  if(TARGET servegrid_${m})
    list(APPEND _modules servegrid_${m})
  endif()
endforeach()
target_link_libraries(servegrid INTERFACE ${_modules})

install(TARGETS servegrid servegrid_options ${_modules} EXPORT servegrid
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET servegrid_cli)
  install(TARGETS servegrid_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET servegrid_simgrid)
  install(TARGETS servegrid_simgrid LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/servegrid)
endif()
install(DIRECTORY sim/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/servegrid FILES_MATCHING PATTERN "*.hpp"
        PATTERN cli EXCLUDE)
install(DIRECTORY hw_profiles models engines presets plans scenarios fabrics DESTINATION ${CMAKE_INSTALL_DATADIR}/servegrid)
install(EXPORT servegrid NAMESPACE servegrid:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/servegrid
        FILE servegrid-targets.cmake)
configure_package_config_file(cmake/servegrid-config.cmake.in ${PROJECT_BINARY_DIR}/servegrid-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/servegrid)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/servegrid-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/servegrid-config.cmake ${PROJECT_BINARY_DIR}/servegrid-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/servegrid)
