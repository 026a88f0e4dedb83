/* The parts of the benchmark that must weigh nothing: a meter, what a run is held against, and
 * commands that say when they were there. */

#ifdef NIL

/* A command of a few instructions, which fails: what an attempt costs without what it does. */
void _start(void)
{
#if defined(__x86_64__)
    __asm__ volatile("mov $60, %eax\n mov $1, %edi\n syscall");
#elif defined(__aarch64__)
    __asm__ volatile("mov x8, #93\n mov x0, #1\n svc #0");
#else
#error "no way to exit is known here"
#endif
}

#else

#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static long long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int run(char **words, struct rusage *usage)
{
    pid_t child;
    int status;
    if (posix_spawnp(&child, words[0], NULL, NULL, words, environ) != 0)
        exit(127);
    while (wait4(child, &status, 0, usage) < 0)
        ;
    return status;
}

static void append(const char *path, const char *line)
{
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    size_t length = strlen(line);
    if (file < 0 || write(file, line, length) != (ssize_t)length)
        exit(9);
    close(file);
}

/* meter FILE TIMES COMMAND... [; COMMAND...]...: runs the commands in turns, so many times each, and
 * writes a line for each run to FILE: nanoseconds, kB, exit code. Its own memory is small, since a
 * command is also charged with what its parent held when it started it. */
static int meter(char **words)
{
    long times = atol(words[1]);
    char line[96];
    struct rusage usage;
    while (times-- > 0) {
        for (char **command = words + 2, **next; *command != NULL; command = next) {
            for (next = command; *next != NULL && strcmp(*next, ";") != 0; next++)
                ;
            char *separator = *next;
            *next = NULL;
            long long begun = now();
            int status = run(command, &usage);
            snprintf(line, sizeof line, "%lld %ld %d\n", now() - begun, usage.ru_maxrss,
                     WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
            append(words[0], line);
            *next = separator;
            if (separator != NULL)
                next++;
        }
    }
    return 0;
}

/* loop TIMES SECONDS COMMAND...: what must be done to retry, and nothing else. */
static int loop(char **words)
{
    long left = atol(words[0]);
    double seconds = atof(words[1]);
    struct timespec delay = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
    struct rusage usage;
    for (;;) {
        int status = run(words + 2, &usage);
        if (status == 0 || --left <= 0)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        if (seconds > 0)
            nanosleep(&delay, NULL);
    }
}

/* stamp FILE: appends when it began and when it ended, and fails. */
static int stamp(char **words)
{
    char line[64];
    long long begun = now();
    snprintf(line, sizeof line, "%lld %lld\n", begun, now());
    append(words[0], line);
    return 7;
}

/* hold FILE: appends its pid, and stays for a while. */
static int hold(char **words)
{
    char line[64];
    struct timespec while_measured = {60, 0};
    snprintf(line, sizeof line, "%d\n", (int)getpid());
    append(words[0], line);
    nanosleep(&while_measured, NULL);
    return 0;
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        int least;
        int (*play)(char **);
    } parts[] = {{"meter", 5, meter}, {"loop", 5, loop}, {"stamp", 3, stamp}, {"hold", 3, hold}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (count >= parts[i].least && strcmp(words[1], parts[i].name) == 0)
            return parts[i].play(words + 2);
    return 64;
}

#endif
