/*
 * invariants.h: what must be true of a store between any two commits, asked of the file itself in
 * plain SQL, by nothing that the store's own code is made of.
 */
#ifndef BELAY_TESTS_STORE_INVARIANTS_H
#define BELAY_TESTS_STORE_INVARIANTS_H

#include <check.h>
#include <sqlite3.h>
#include <stdio.h>

static const char *const invariants[][2] = {
    {"a state is legal", "SELECT seq FROM job WHERE state < 1 OR state > 11"},
    {"no limit is exceeded", "SELECT lim.name, total, capacity FROM lim JOIN (SELECT job_lim.lim "
                             "AS l, sum(permits) AS total"
                             " FROM job_lim JOIN job ON job.seq = job_lim.job WHERE job.state IN "
                             "(3, 4) GROUP BY job_lim.lim)"
                             " ON l = lim.id WHERE total > capacity"},
    {"permits are marked as held exactly for claimed and running jobs",
     "SELECT job FROM job_lim JOIN job ON seq = job WHERE held <> (state IN (3, 4))"},
    {"an id has at most one pending job",
     "SELECT id FROM job WHERE id IS NOT NULL AND state IN (1, 2, 3, 5, 6) GROUP BY id"
     " HAVING count(*) > 1"},
    {"an id has at most one running job",
     "SELECT id FROM job WHERE id IS NOT NULL AND state = 4 GROUP BY id HAVING count(*) > 1"},
    {"a schedule has at most one claimed or running run",
     "SELECT schedule FROM job WHERE schedule IS NOT NULL AND state IN (3, 4) GROUP BY schedule"
     " HAVING count(*) > 1"},
    {"a slot has one run",
     "SELECT schedule FROM job WHERE schedule IS NOT NULL GROUP BY schedule, slot"
     " HAVING count(*) > 1"},
    {"no token is used twice",
     "SELECT token FROM job WHERE token > 0 GROUP BY token HAVING count(*) > 1"},
    {"no token is beyond the counter, nor the counter beyond its reservation",
     "SELECT 1 FROM meta AS t JOIN meta AS r WHERE t.name = 'token' AND r.name = 'token_reserved'"
     " AND (t.number > r.number OR t.number < (SELECT coalesce(max(token), 0) FROM job))"},
    {"a claimed or running job belongs to an open session",
     "SELECT seq FROM job WHERE state IN (3, 4) AND NOT EXISTS (SELECT 1 FROM session WHERE"
     " session.id = job.session AND ended_at IS NULL)"},
    {"a waiting job counts what it waits for",
     "SELECT seq FROM job WHERE state = 5 AND waits <> (SELECT count(*) FROM dep WHERE dep.job ="
     " job.seq AND met = 0)"},
    {"a waiting job waits for a live one",
     "SELECT seq FROM job WHERE state = 5 AND NOT EXISTS (SELECT 1 FROM dep JOIN job AS other ON"
     " other.seq = dep.need WHERE dep.job = job.seq AND met = 0 AND other.state <= 6)"},
    {"a parked job is parked on one of its limits",
     "SELECT seq FROM job WHERE state = 6 AND NOT EXISTS (SELECT 1 FROM job_lim WHERE job = seq AND"
     " lim = parked_on)"},
    {"nobody is parked behind free permits",
     "SELECT job.seq FROM job JOIN lim ON lim.id = job.parked_on JOIN job_lim ON job_lim.job ="
     " job.seq AND job_lim.lim = lim.id WHERE job.state = 6 AND lim.paused = 0 AND"
     " job_lim.permits <= capacity AND job_lim.permits + (SELECT coalesce(sum(permits), 0) FROM"
     " job_lim AS h JOIN job AS o ON o.seq = h.job WHERE h.lim = lim.id AND o.state IN (3, 4))"
     " <= capacity AND NOT EXISTS (SELECT 1 FROM job AS other JOIN job_lim AS w ON w.job = "
     "other.seq"
     " AND w.lim = lim.id WHERE other.queue = job.queue AND other.seq <> job.seq AND"
     " other.state IN (2, 6) AND (other.priority > job.priority OR"
     " (other.priority = job.priority AND (other.run_at < job.run_at OR"
     " (other.run_at = job.run_at AND other.seq < job.seq)))))"},
    {"a job has its work", "SELECT seq FROM job WHERE seq NOT IN (SELECT job FROM work)"},
    {"an ended job says when", "SELECT seq FROM job WHERE (state >= 7) <> (ended_at > 0)"},
};

/* Fails the test that finds a row which breaks a rule. */
static inline void invariants_hold(const char *path)
{
    sqlite3 *db = NULL;
    ck_assert_int_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    (void)sqlite3_busy_timeout(db, 10000);
    for (size_t i = 0; i < sizeof invariants / sizeof *invariants; i++) {
        sqlite3_stmt *statement = NULL;
        int code = sqlite3_prepare_v2(db, invariants[i][1], -1, &statement, NULL);
        ck_assert_msg(code == SQLITE_OK, "%s: %s", invariants[i][0], sqlite3_errmsg(db));
        code = sqlite3_step(statement);
        ck_assert_msg(code == SQLITE_DONE, "broken: %s (%s: %s)", invariants[i][0],
                      code == SQLITE_ROW ? "row" : sqlite3_errmsg(db),
                      code == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : "");
        sqlite3_finalize(statement);
    }
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

#endif
