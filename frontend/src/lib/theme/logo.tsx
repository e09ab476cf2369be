/** A mass on a spring; colours come from the text around it. */
export function Logo({ size = 26 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" fill="none" aria-hidden="true">
      <path d="M8 3h16" stroke="currentColor" strokeWidth="2.2" strokeLinecap="round" />
      <path
        d="M16 3v3.2l-6.5 2.1 13 3.4-13 3.4 13 3.4L16 20.6V23"
        stroke="currentColor"
        strokeWidth="1.9"
        strokeLinejoin="round"
        strokeLinecap="round"
      />
      <circle cx="16" cy="26.3" r="3.3" fill="var(--hk-amber)" />
    </svg>
  );
}
