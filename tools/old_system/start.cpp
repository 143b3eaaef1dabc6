// Where the program begins, in place of _start of glibc 2.34 and later: that one leaves the
// program's constructors to the C library, and an older one knows nothing of them. Here they are
// passed on, as in every _start before.
extern "C" {

using Constructor = void (*)(int, char**, char**);
extern const Constructor __init_array_start[], __init_array_end[];  // the linker's
void _init();                                                       // the compiler's

__attribute__((used, visibility("hidden"))) void run_constructors(int argc, char** argv,
                                                                  char** environment) {
  _init();
  for (const Constructor* one = __init_array_start; one != __init_array_end; ++one)
    (*one)(argc, argv, environment);
}

}  // extern "C"

// The kernel gives argc and all after it on the stack, and in rdx what is to be called at exit.
// __libc_start_main(main, argc, argv, init, fini, at_exit, end of the stack); destructors are the
// dynamic linker's.
__asm__(R"(
    .text
    .globl start_with_constructors
    .hidden start_with_constructors
    .type start_with_constructors, @function
start_with_constructors:
    .cfi_startproc
    .cfi_undefined rip
    xorl %ebp, %ebp
    movq %rdx, %r9
    popq %rsi
    movq %rsp, %rdx
    andq $-16, %rsp
    pushq %rax
    pushq %rsp
    xorl %r8d, %r8d
    leaq run_constructors(%rip), %rcx
    leaq main(%rip), %rdi
    call *__libc_start_main@GOTPCREL(%rip)
    hlt
    .cfi_endproc
)");
