/* when.c: see when.h. */
#include "when.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "duration.h"
#include "number.h"

#define SECOND_NS INT64_C(1000000000)

/* The last second whose nanoseconds fit, and the days a next HH:MM can be away. */
#define SECONDS_MAX (INT64_MAX / SECOND_NS)
enum { NEXT_DAYS_MAX = 3 };

static const char no_form[] =
    "it is none of HH:MM, YYYY-MM-DDTHH:MM:SS with or without a zone, @SECONDS and now+DURATION";
static const char no_moment[] = "there is no such date or time of day";

/* Exactly `digits` digits at *at, moving behind them. */
static bool read_digits(const char **at, int digits, int *ret_value)
{
    int value = 0;
    for (int i = 0; i < digits; i++) {
        if (!isdigit((unsigned char)(*at)[i])) {
            return false;
        }
        value = value * 10 + ((*at)[i] - '0');
    }
    *at += digits;
    *ret_value = value;
    return true;
}

/* HH:MM or HH:MM:SS. */
static bool read_time(const char **at, struct tm *tm)
{
    if (!read_digits(at, 2, &tm->tm_hour) || **at != ':') {
        return false;
    }
    (*at)++;
    if (!read_digits(at, 2, &tm->tm_min)) {
        return false;
    }
    tm->tm_sec = 0;
    if (**at == ':') {
        (*at)++;
        return read_digits(at, 2, &tm->tm_sec);
    }
    return true;
}

static bool is_time_of_day(const struct tm *tm)
{
    return tm->tm_hour < 24 && tm->tm_min < 60 && tm->tm_sec < 60;
}

/* Local time to seconds. False for a time that the clocks skip, or a date that does not exist. */
static bool to_seconds(struct tm tm, int64_t *ret_seconds)
{
    struct tm asked = tm;
    tm.tm_isdst = -1;
    time_t seconds = mktime(&tm);
    *ret_seconds = seconds;
    return tm.tm_hour == asked.tm_hour && tm.tm_min == asked.tm_min &&
           tm.tm_mday == asked.tm_mday && tm.tm_mon == asked.tm_mon;
}

/* The next moment at which local clocks show this time. */
static const char *next_time(const struct tm *time, int64_t now_ns, int64_t *ret_ns)
{
    if (!is_time_of_day(time)) {
        return no_moment;
    }
    time_t now = (time_t)(now_ns / SECOND_NS);
    struct tm today;
    localtime_r(&now, &today);
    for (int day = 0; day < NEXT_DAYS_MAX; day++) {
        struct tm tm = {.tm_year = today.tm_year, .tm_mon = today.tm_mon, .tm_mday = today.tm_mday};
        tm.tm_mday += day;
        tm.tm_hour = 12; /* the day after is a day after at noon, however long days are */
        tm.tm_isdst = -1;
        mktime(&tm);
        tm.tm_hour = time->tm_hour;
        tm.tm_min = time->tm_min;
        tm.tm_sec = time->tm_sec;
        int64_t seconds = 0;
        if (to_seconds(tm, &seconds) && seconds > now_ns / SECOND_NS) {
            *ret_ns = seconds * SECOND_NS;
            return NULL;
        }
    }
    return no_moment;
}

/* Z or +HH:MM or -HHMM. False when it is none; 0 seconds for Z. */
static bool read_zone(const char **at, int64_t *ret_offset)
{
    *ret_offset = 0;
    if (**at == 'Z' || **at == 'z') {
        (*at)++;
        return true;
    }
    int hours = 0;
    int minutes = 0;
    int sign = **at == '-' ? -1 : 1;
    if (**at != '+' && **at != '-') {
        return false;
    }
    (*at)++;
    if (!read_digits(at, 2, &hours)) {
        return false;
    }
    *at += **at == ':' ? 1 : 0;
    *ret_offset = sign * (hours * 3600 + minutes * 60);
    if (!read_digits(at, 2, &minutes)) {
        return false;
    }
    *ret_offset = sign * (hours * 3600 + minutes * 60);
    return hours < 24 && minutes < 60;
}

static bool zoned_seconds(struct tm tm, int64_t offset, int64_t *ret_seconds)
{
    struct tm asked = tm;
    *ret_seconds = timegm(&tm) - offset;
    return tm.tm_mday == asked.tm_mday && tm.tm_mon == asked.tm_mon;
}

static bool read_date(const char **at, struct tm *tm)
{
    if (!read_digits(at, 4, &tm->tm_year) || *(*at)++ != '-' || !read_digits(at, 2, &tm->tm_mon) ||
        *(*at)++ != '-' || !read_digits(at, 2, &tm->tm_mday)) {
        return false;
    }
    tm->tm_year -= 1900;
    tm->tm_mon -= 1;
    return true;
}

static const char *parse_date(const char *text, int64_t now_ns, int64_t *ret_ns)
{
    struct tm tm = {0};
    const char *at = text;
    if (!read_date(&at, &tm)) {
        return no_form;
    }
    if (*at == 'T' || *at == 't' || *at == ' ') {
        at++;
        if (!read_time(&at, &tm)) {
            return no_form;
        }
    }
    at += *at == ' ' ? 1 : 0;
    int64_t seconds = 0;
    int64_t offset = 0;
    bool exists = false;
    if (*at == '\0') {
        exists = to_seconds(tm, &seconds);
    } else if (read_zone(&at, &offset) && *at == '\0') {
        exists = zoned_seconds(tm, offset, &seconds);
    } else {
        return no_form;
    }
    if (!exists || !is_time_of_day(&tm) || seconds > SECONDS_MAX) {
        return no_moment;
    }
    if (seconds < now_ns / SECOND_NS) {
        return "that moment is past; write a later one, or now";
    }
    *ret_ns = seconds * SECOND_NS;
    return NULL;
}

/* now or now+DURATION. */
static const char *parse_from_now(const char *text, int64_t now_ns, int64_t *ret_ns)
{
    int64_t delay_ns = 0;
    if (*text == '+') {
        const char *why = bly_duration_parse(text + 1, &delay_ns);
        if (why != NULL) {
            return why;
        }
    } else if (*text != '\0') {
        return no_form;
    }
    return __builtin_add_overflow(now_ns, delay_ns, ret_ns) ? no_moment : NULL;
}

const char *bly_when_parse(const char *text, int64_t now_ns, int64_t *ret_ns)
{
    assert(now_ns >= 0);
    if (strncmp(text, "now", 3) == 0) {
        return parse_from_now(text + 3, now_ns, ret_ns);
    }
    if (text[0] == '@') {
        uint64_t seconds = 0;
        const char *why = bly_number_parse(text + 1, 0, SECONDS_MAX, &seconds);
        *ret_ns = (int64_t)seconds * SECOND_NS;
        return why;
    }
    struct tm tm = {0};
    const char *at = text;
    if (read_time(&at, &tm) && *at == '\0') {
        return next_time(&tm, now_ns, ret_ns);
    }
    return parse_date(text, now_ns, ret_ns);
}

void bly_when_show(struct bly_bytes *to, int64_t ns)
{
    time_t seconds = (time_t)(ns / SECOND_NS);
    struct tm tm;
    localtime_r(&seconds, &tm);
    int minutes = (int)(tm.tm_gmtoff / 60);
    bly_bytes_print(to, "%04d-%02d-%02dT%02d:%02d:%02d", tm.tm_year + 1900, tm.tm_mon + 1,
                    tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
    if (minutes == 0) {
        bly_bytes_byte(to, 'Z');
    } else {
        bly_bytes_print(to, "%c%02d:%02d", minutes < 0 ? '-' : '+', abs(minutes) / 60,
                        abs(minutes) % 60);
    }
}
