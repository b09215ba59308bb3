/* results.c: see results.h. */
#include "results.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"

enum { BLOCK_SIZE = 65536, MODE_OF_FOLDER = 0777, MODE_OF_FILE = 0666 };

int bly_results_open(const char *folder)
{
    return mkdir(folder, MODE_OF_FOLDER) == 0 || errno == EEXIST ? 0 : -1;
}

static int open_file(int folder, const char *name)
{
    return openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                  MODE_OF_FILE);
}

/* close(2) may be where a full disk shows; the error that came first is the one to tell. */
static int close_file(int fd, int failed)
{
    int error = errno;
    if (close(fd) != 0 && failed == 0) {
        return -1;
    }
    errno = error;
    return failed;
}

static int copy(const bly_output *output, int fd)
{
    char block[BLOCK_SIZE];
    uint64_t offset = 0;
    for (;;) {
        ssize_t got = output != NULL ? bly_output_read(output, offset, block, sizeof block) : 0;
        if (got <= 0) {
            errno = got < 0 ? EIO : errno;
            return got < 0 ? -1 : 0;
        }
        if (bly_files_write(fd, block, (size_t)got) != 0) {
            return -1;
        }
        offset += (uint64_t)got;
    }
}

static int keep_output(int folder, const char *name, const bly_output *output)
{
    int fd = open_file(folder, name);
    return fd < 0 ? -1 : close_file(fd, copy(output, fd));
}

static int keep_command(int folder, const bly_job *job)
{
    int fd = open_file(folder, "command");
    if (fd < 0) {
        return -1;
    }
    struct bly_bytes text = {0};
    bly_job_show(job, &text);
    bly_bytes_byte(&text, '\n');
    int failed = close_file(fd, bly_files_write(fd, text.at, text.len));
    bly_bytes_free(&text);
    return failed;
}

/* Opens DIR/NUMBER, making it unless it is there. */
static int open_folder(const char *folder, uint64_t seq)
{
    struct bly_bytes path = {0};
    bly_bytes_print(&path, "%s/%" PRIu64, folder, seq);
    int fd = -1;
    if (bly_results_open(path.at) == 0) {
        fd = open(path.at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    int error = errno;
    bly_bytes_free(&path);
    errno = error;
    return fd;
}

int bly_results_keep(const char *folder, const bly_job *job, const bly_output *out,
                     const bly_output *err)
{
    int fd = open_folder(folder, job->seq);
    if (fd < 0) {
        return -1;
    }
    int failed = keep_output(fd, "stdout", out);
    if (failed == 0) {
        failed = keep_output(fd, "stderr", err);
    }
    if (failed == 0) {
        failed = keep_command(fd, job);
    }
    return close_file(fd, failed);
}
