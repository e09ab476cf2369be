import { Link, Outlet, useLocation } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { useRefusal } from "@/lib/people/use-me";
import { ColorSchemeToggle } from "@/lib/theme/color-scheme-toggle";
import { Logo } from "@/lib/theme/logo";
import { ConnectionNote } from "./connection-note";
import { Overlays, WithOverlays } from "./overlays";
import { PaletteButton } from "./palette-button";
import { PersonMenu } from "./person-menu";
import { ServerNote } from "./server-note";
import { useSignedOut } from "./session";
import styles from "./shell.module.css";
import { SignedOut } from "./signed-out";
import { useOnePerson } from "./use-one-person";
import { useRecovery } from "./use-recovery";

/** What is seen of the page before the present one in the narrow row of pages, px. */
const BEFORE_IT = 40;

/** Pages of those who have not signed in yet. */
const BEFORE = new Set(["/sign-in", "/invite"]);

/** A zoom, which is in the address behind the path, renders nothing of what is around a page. */
const pathOf = ({ pathname }: { pathname: string }) => pathname;

/** What every page has around it. */
export function Shell() {
  const before = BEFORE.has(useLocation({ select: pathOf }));
  return <WithOverlays>{before ? <Entrance /> : <Signed />}</WithOverlays>;
}

function Entrance() {
  return (
    <>
      <header className={styles.header}>
        <div className={styles.bar}>
          <span className={styles.brand}>
            <Logo />
            <span>Hooke</span>
          </span>
          <span className={styles.spring} />
          <ColorSchemeToggle />
        </div>
      </header>
      <main id="content" className={styles.content}>
        <Outlet />
        <Overlays />
      </main>
    </>
  );
}

function Signed() {
  const out = useSignedOut();
  useRecovery();
  useOnePerson();
  useEffect(() => {
    if (out) document.title = "Sign in · Hooke";
  }, [out]);
  return (
    <>
      <a className={styles.skip} href="#content">
        Skip to content
      </a>
      <header className={styles.header}>
        <div className={styles.bar}>
          <Link to="/" className={styles.brand} aria-label="Hooke: experiments">
            <Logo />
            <span>Hooke</span>
          </Link>
          <Pages />
          <span className={styles.spring} />
          {!out && <PaletteButton />}
          {!out && <ConnectionNote />}
          <ColorSchemeToggle />
          {!out && <PersonMenu />}
        </div>
      </header>
      <main id="content" className={styles.content} tabIndex={-1}>
        {!out && <ServerNote />}
        {out ? <SignedOut /> : <Outlet />}
        <Overlays />
      </main>
    </>
  );
}

/** Whether an address is that of a page, or below it: that of a cluster's queue is below the clusters. */
function isWithin(pathname: string, page: string): boolean {
  return pathname === page || (page !== "/" && pathname.startsWith(`${page}/`));
}

/** The pages; where the window is narrower than all of them, that of the present one is in view. */
function Pages() {
  const nav = useRef<HTMLElement>(null);
  const pathname = useLocation({ select: pathOf });
  useEffect(() => {
    if (!nav.current) return;
    const links = [...nav.current.querySelectorAll("a")];
    const present = links.find((link) => isWithin(pathname, link.getAttribute("href")?.split("?")[0] ?? ""));
    // not scrollIntoView, which would scroll the window, too
    if (present) nav.current.scrollLeft = present.offsetLeft - nav.current.offsetLeft - BEFORE_IT;
  }, [pathname]);
  return (
    <nav ref={nav} className={styles.nav} aria-label="Main">
      <Link to="/" activeOptions={{ exact: true, includeSearch: false }}>
        Experiments
      </Link>
      <Link to="/leaderboard">Leaderboard</Link>
      <Link to="/algorithms">Algorithms</Link>
      <Link to="/compare">Compare</Link>
      <Link to="/clusters">Clusters</Link>
      <NewLink />
    </nav>
  );
}

/** Absent for those who may not submit an experiment. */
function NewLink() {
  return useRefusal("researcher") === undefined ? <Link to="/new">New</Link> : null;
}
