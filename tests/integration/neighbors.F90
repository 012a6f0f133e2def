! Neighborhood collectives of a Fortran program, which knows nothing of vicinal: every form of them, completed in
! Fortran and in C, on a graph of all with all and on a periodic grid. Compiled once for each way of having MPI:
! -DMPIF (mpif.h), -DMPI (use mpi) and -DMPI_F08 (use mpi_f08). Prints `right` where all values are.
!
! -DALLTOALLW_FAILS_ON_GRIDS: the mpi_f08 of MPICH 4.0 takes each topology for a distributed graph there.
! -DINIT=NAME: the MPI's name of MPI_Neighbor_alltoallv_init, where this way of having MPI has one.

#if defined(MPI_F08)
#define A_COMMUNICATOR type(MPI_Comm)
#define A_REQUEST type(MPI_Request)
#define A_TYPE type(MPI_Datatype)
#define HANDLE(it) it%MPI_VAL
#else
#define A_COMMUNICATOR integer
#define A_REQUEST integer
#define A_TYPE integer
#define HANDLE(it) it
#endif

program neighbors
#if defined(MPI_F08)
  use mpi_f08
#elif defined(MPI)
  use mpi
#endif
  implicit none
#if defined(MPIF)
  include 'mpif.h'
#endif

  interface
    ! complete.c
    integer(c_int) function wait_in_c(request) bind(c)
      use iso_c_binding, only: c_int
      integer(c_int), intent(inout) :: request
    end function
    integer(c_int) function test_all_in_c(count, requests) bind(c)
      use iso_c_binding, only: c_int
      integer(c_int), value :: count
      integer(c_int), intent(inout) :: requests(*)
    end function
    integer(c_int) function exchange_in_c(comm, degree, source, target) bind(c)
      use iso_c_binding, only: c_int
      integer(c_int), value :: comm, degree
      integer(c_int), intent(in) :: source(*)
      integer(c_int), intent(out) :: target(*)
    end function
  end interface

  integer, parameter :: most = 7, turns = 24
  integer :: rank, ranks, fault, wrong, all_wrong, sizes(1)
  logical :: periodic(1), has_alltoallw
  integer, allocatable :: others(:)
  A_COMMUNICATOR :: comm, copy

  call MPI_Init(fault)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, fault)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, fault)
  wrong = 0
  has_alltoallw = .true.

  call name_others()
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, size(others), others, MPI_UNWEIGHTED, size(others), &
      others, MPI_UNWEIGHTED, MPI_INFO_NULL, .false., comm, fault)
  call exchange_on(comm)
  call MPI_Comm_dup(comm, copy, fault)
  call MPI_Comm_free(comm, fault)
  call exchange_on(copy)
  call MPI_Comm_free(copy, fault)

  ! The two sides of a dimension are different ranks on three and more.
  sizes = ranks
  periodic = .true.
  if (ranks > 2) then
#if defined(ALLTOALLW_FAILS_ON_GRIDS)
    has_alltoallw = .false.
#endif
    call MPI_Cart_create(MPI_COMM_WORLD, 1, sizes, periodic, .false., comm, fault)
    others = [mod(rank + ranks - 1, ranks), mod(rank + 1, ranks)]
    call exchange_on(comm)
    call MPI_Comm_free(comm, fault)
  end if

  call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, fault)
  if (rank == 0 .and. all_wrong == 0) print '(a)', 'right'
  if (rank == 0 .and. all_wrong /= 0) print '(i0,a)', all_wrong, ' wrong'
  call MPI_Finalize(fault)
  if (all_wrong /= 0) stop 1

contains

  subroutine name_others()
    integer :: i
    allocate (others(ranks - 1))
    do i = 1, ranks - 1
      others(i) = mod(rank + i, ranks)
    end do
  end subroutine

  integer function count_from(from, to)
    integer, intent(in) :: from, to
    count_from = 1 + mod(3 * from + 5 * to, most)
  end function

  integer function value_of(from, to, i, turn)
    integer, intent(in) :: from, to, i, turn
    value_of = from * 100000 + to * 1000 + i * 100 + turn
  end function

  ! `to` of an allgather is nobody, and its block of one size; -1 is what nothing was written to.
  subroutine check(what, target, turn, gathered, even)
    character(*), intent(in) :: what
    integer, intent(in) :: target(:), turn
    logical, intent(in) :: gathered, even
    integer :: k, i, due, to, length
    to = rank
    if (gathered) to = 0
    do k = 1, size(others)
      length = count_from(others(k), to)
      if (even) length = most
      do i = 1, most
        due = -1
        if (i <= length) due = value_of(others(k), to, i, turn)
        if (target(most * (k - 1) + i) /= due) then
          if (wrong < 5) print '(a,5(1x,i0))', what, rank, turn, others(k), target(most * (k - 1) + i), due
          wrong = wrong + 1
        end if
      end do
    end do
  end subroutine

  subroutine exchange_on(comm)
    A_COMMUNICATOR, intent(in) :: comm
    integer, allocatable :: source(:), target(:), counts(:), got(:), places(:)
    integer(kind=MPI_ADDRESS_KIND), allocatable :: bytes(:)
    A_TYPE, allocatable :: types(:)
    integer :: own(most), degree, k, i, turn, own_count

    degree = size(others)
    allocate (source(most * degree), target(most * degree), counts(degree), got(degree), places(degree))
    allocate (bytes(degree), types(degree))
    do k = 1, degree
      counts(k) = count_from(rank, others(k))
      got(k) = count_from(others(k), rank)
      places(k) = most * (k - 1)
      bytes(k) = 4 * places(k)
      types(k) = MPI_INTEGER
    end do
    own_count = count_from(rank, 0)

    do turn = 1, turns
      do k = 1, degree
        do i = 1, most
          source(most * (k - 1) + i) = value_of(rank, others(k), i, turn)
        end do
      end do
      own = [(value_of(rank, 0, i, turn), i = 1, most)]

      target = -1
      call MPI_Neighbor_alltoall(source, most, MPI_INTEGER, target, most, MPI_INTEGER, comm, fault)
      call check('alltoall', target, turn, .false., .true.)
      target = -1
      call MPI_Neighbor_alltoallv(source, counts, places, MPI_INTEGER, target, got, places, MPI_INTEGER, comm, fault)
      call check('alltoallv', target, turn, .false., .false.)
      if (has_alltoallw) then
        target = -1
        call MPI_Neighbor_alltoallw(source, counts, bytes, types, target, got, bytes, types, comm, fault)
        call check('alltoallw', target, turn, .false., .false.)
      end if
      target = -1
      call MPI_Neighbor_allgather(own, most, MPI_INTEGER, target, most, MPI_INTEGER, comm, fault)
      call check('allgather', target, turn, .true., .true.)
      target = -1
      call gather_counts(got, 0)
      call MPI_Neighbor_allgatherv(own, own_count, MPI_INTEGER, target, got, places, MPI_INTEGER, comm, fault)
      call check('allgatherv', target, turn, .true., .false.)
      call gather_counts(got, rank)
      target = -1
      if (exchange_in_c(HANDLE(comm), degree, source, target) /= MPI_SUCCESS) wrong = wrong + 1
      call check('alltoall in C', target, turn, .false., .true.)

      call nonblocking(comm, source, counts, got, places, bytes, types, own, own_count, turn)
    end do
    call persistent(comm, source, counts, got, places)
  end subroutine

  subroutine gather_counts(got, to)
    integer, intent(out) :: got(:)
    integer, intent(in) :: to
    integer :: k
    do k = 1, size(others)
      got(k) = count_from(others(k), to)
    end do
  end subroutine

  ! Five at once, with two of messages among them, in every order of completion.
  subroutine nonblocking(comm, source, counts, got, places, bytes, types, own, own_count, turn)
    A_COMMUNICATOR, intent(in) :: comm
    integer, intent(in), contiguous :: source(:), counts(:), got(:), places(:), own(:)
    integer, intent(in) :: own_count, turn
    integer(kind=MPI_ADDRESS_KIND), intent(in), contiguous :: bytes(:)
    A_TYPE, intent(in), contiguous :: types(:)
    integer, allocatable, asynchronous :: targets(:, :)
    integer, asynchronous :: passed, message
    integer :: gathered(size(got)), plain(7), i
    A_REQUEST :: requests(7)

    allocate (targets(size(source), 5))
    targets = -1
    message = turn + rank
    call gather_counts(gathered, 0)
    call MPI_Ineighbor_alltoall(source, most, MPI_INTEGER, targets(1, 1), most, MPI_INTEGER, comm, requests(1), fault)
    call MPI_Irecv(passed, 1, MPI_INTEGER, mod(rank + 1, ranks), 3, MPI_COMM_WORLD, requests(2), fault)
    call MPI_Ineighbor_alltoallv(source, counts, places, MPI_INTEGER, targets(1, 2), got, places, MPI_INTEGER, comm, &
        requests(3), fault)
    requests(4) = MPI_REQUEST_NULL
    if (has_alltoallw) call MPI_Ineighbor_alltoallw(source, counts, bytes, types, targets(1, 3), got, bytes, types, &
        comm, requests(4), fault)
    call MPI_Isend(message, 1, MPI_INTEGER, mod(rank + ranks - 1, ranks), 3, MPI_COMM_WORLD, requests(5), fault)
    call MPI_Ineighbor_allgather(own, most, MPI_INTEGER, targets(1, 4), most, MPI_INTEGER, comm, requests(6), fault)
    call MPI_Ineighbor_allgatherv(own, own_count, MPI_INTEGER, targets(1, 5), gathered, places, MPI_INTEGER, comm, &
        requests(7), fault)

    select case (mod(turn, 6))
    case (0)
      call MPI_Waitall(7, requests, MPI_STATUSES_IGNORE, fault)
    case (1)
      do i = 7, 1, -1
        call MPI_Wait(requests(i), MPI_STATUS_IGNORE, fault)
      end do
    case (2)
      call until_tested(requests)
    case (3)
      do i = 1, 7
        plain(i) = HANDLE(requests(mod(i + rank, 7) + 1))
        if (wait_in_c(plain(i)) /= MPI_SUCCESS) wrong = wrong + 1
        if (plain(i) /= HANDLE(MPI_REQUEST_NULL)) wrong = wrong + 1
      end do
    case (4)
      do i = 1, 7
        plain(i) = HANDLE(requests(i))
      end do
      if (test_all_in_c(7, plain) /= MPI_SUCCESS) wrong = wrong + 1
      if (any(plain /= HANDLE(MPI_REQUEST_NULL))) wrong = wrong + 1
    case (5)
      do i = 1, 7, 2
        call MPI_Wait(requests(i), MPI_STATUS_IGNORE, fault)
      end do
      call MPI_Waitall(7, requests, MPI_STATUSES_IGNORE, fault)
    end select
    if (passed /= turn + mod(rank + 1, ranks)) wrong = wrong + 1
    call check('ialltoall', targets(:, 1), turn, .false., .true.)
    call check('ialltoallv', targets(:, 2), turn, .false., .false.)
    if (has_alltoallw) call check('ialltoallw', targets(:, 3), turn, .false., .false.)
    call check('iallgather', targets(:, 4), turn, .true., .true.)
    call check('iallgatherv', targets(:, 5), turn, .true., .false.)
  end subroutine

  ! By counting: the mpif.h of MPICH 4.0 gives MPI_UNDEFINED + 1 where no request is left.
  subroutine until_tested(requests)
    A_REQUEST, intent(inout) :: requests(:)
    integer :: index, left
    logical :: done
    left = 0
    do index = 1, size(requests)
      if (HANDLE(requests(index)) /= HANDLE(MPI_REQUEST_NULL)) left = left + 1
    end do
    do while (left > 0)
      call MPI_Testany(size(requests), requests, index, done, MPI_STATUS_IGNORE, fault)
      if (done) left = left - 1
    end do
  end subroutine

  subroutine persistent(comm, source, counts, got, places)
    A_COMMUNICATOR, intent(in) :: comm
    integer, intent(inout), asynchronous, contiguous :: source(:)
    integer, intent(in), contiguous :: counts(:), got(:), places(:)
#if defined(INIT)
    integer, allocatable, asynchronous :: targets(:, :)
    A_REQUEST :: requests(2)
    integer :: turn, i, k, plain

    allocate (targets(size(source), 2))
    do i = 1, 2
      call INIT(source, counts, places, MPI_INTEGER, targets(1, i), got, places, MPI_INTEGER, comm, MPI_INFO_NULL, &
          requests(i), fault)
    end do
    do turn = 1, turns
      do k = 1, size(others)
        do i = 1, most
          source(most * (k - 1) + i) = value_of(rank, others(k), i, turn)
        end do
      end do
      targets = -1
      if (mod(turn, 2) == 0) then
        call MPI_Startall(2, requests, fault)
      else
        call MPI_Start(requests(1), fault)
        call MPI_Start(requests(2), fault)
      end if
      if (mod(turn, 3) == 0) then
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, fault)
      else
        call MPI_Wait(requests(2), MPI_STATUS_IGNORE, fault)
        plain = HANDLE(requests(1))
        if (wait_in_c(plain) /= MPI_SUCCESS .or. plain /= HANDLE(requests(1))) wrong = wrong + 1
      end if
      call check('alltoallv_init 1', targets(:, 1), turn, .false., .false.)
      call check('alltoallv_init 2', targets(:, 2), turn, .false., .false.)
    end do
    call MPI_Request_free(requests(1), fault)
    call MPI_Request_free(requests(2), fault)
#endif
  end subroutine

end program
