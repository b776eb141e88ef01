const PATHS = {
  /** Of protection. */
  shield: 'M8 1.5 13.5 3.5v4c0 3.3-2.2 5.7-5.5 7-3.3-1.3-5.5-3.7-5.5-7v-4z',
  /** Two sheets. */
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
} as const;

/** A mark that few fonts have, drawn in the colour and size of the text; screen readers pass over it. */
export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg viewBox="0 0 16 16" width="1em" height="1em" aria-hidden="true" fill="none" stroke="currentColor">
      <path d={PATHS[name]} strokeWidth="1.5" strokeLinejoin="round" />
    </svg>
  );
}
