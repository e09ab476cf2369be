import { Link, Outlet } from "@tanstack/react-router";
import { useEffect } from "react";
import { ColorSchemeToggle } from "@/lib/theme/color-scheme-toggle";
import { Logo } from "@/lib/theme/logo";
import { ConnectionNote } from "./connection-note";
import { useSignedOut } from "./session";
import styles from "./shell.module.css";
import { SignedOut } from "./signed-out";
import { useRecovery } from "./use-recovery";

/** What every page has around it. */
export function Shell() {
  const out = useSignedOut();
  useRecovery();
  useEffect(() => {
    if (out) document.title = "Sign in · Hooke";
  }, [out]);
  return (
    <>
      <a className={styles.skip} href="#content">
        To the content
      </a>
      <header className={styles.header}>
        <div className={styles.bar}>
          <Link to="/" className={styles.brand} aria-label="Hooke: experiments">
            <Logo />
            <span>Hooke</span>
          </Link>
          <nav className={styles.nav} aria-label="Main">
            <Link to="/" activeOptions={{ exact: true }}>
              Experiments
            </Link>
            <Link to="/leaderboard">Leaderboard</Link>
            <Link to="/compare">Compare</Link>
            <Link to="/clusters">Clusters</Link>
            <Link to="/new">New</Link>
          </nav>
          <span className={styles.spring} />
          {!out && <ConnectionNote />}
          <ColorSchemeToggle />
        </div>
      </header>
      <main id="content" className={styles.content} tabIndex={-1}>
        {out ? <SignedOut /> : <Outlet />}
      </main>
    </>
  );
}
