! A user's program in Fortran, which calls vicinal's C functions, as that MPI's own mpifort compiles and links it.
program linked
  use, intrinsic :: iso_c_binding, only: c_int
  use mpi
  implicit none
  interface
    function vicinal_progress() bind(C) result(code)
      import :: c_int
      integer(c_int) :: code
    end function vicinal_progress
  end interface
  integer :: ierror

  call MPI_Init(ierror)
  if (vicinal_progress() /= MPI_SUCCESS) error stop "vicinal_progress failed"
  call MPI_Finalize(ierror)
end program linked
