const PATHS = {
  /** Of protection. */
  shield: 'M8 1.5 13.5 3.5v4c0 3.3-2.2 5.7-5.5 7-3.3-1.3-5.5-3.7-5.5-7v-4z',
  /** Two sheets. */
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  overview: 'M2.5 13.5v-5h3v5zM6.5 13.5v-11h3v11zM10.5 13.5v-8h3v8z',
  insights: 'M2.5 13.5h11M2.5 13.5v-11M4.5 10l3-3.5 2 2 4-5',
  events: 'M9 1.5 3.5 9H8l-1 5.5L12.5 7H8z',
  players: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14c.3-3 2.6-4.5 5.5-4.5s5.2 1.5 5.5 4.5',
  segments: 'M6.5 11.5a5 5 0 1 0 0-10 5 5 0 0 0 0 10zM9.5 14.5a5 5 0 1 0 0-10 5 5 0 0 0 0 10z',
  vip: 'm8 1.5 2 4.3 4.5.6-3.3 3.2.8 4.6L8 12l-4 2.2.8-4.6L1.5 6.4 6 5.8z',
  campaigns: 'M2.5 6.5v3h3l6 4v-11l-6 4zM13.5 6v4',
  journeys: 'M5.5 3.5h-3v3h3zM13.5 3.5h-3v3h3zM9.5 10.5h-3v3h3zM5.5 5h5M4 6.5v5.5h2.5M12 6.5V12H9.5',
  templates: 'M3.5 1.5h6l3 3v10h-9zM9.5 1.5v3h3M5.5 8h5M5.5 11h5',
  bonuses: 'M2.5 7.5h11v6h-11zM1.5 4.5h13v3h-13zM8 4.5v9M8 4.5c-4 0-4-3-2-3 1.5 0 2 3 2 3s0-3 2-3 2 3-2 3',
  developers: 'm5.5 4-4 4 4 4M10.5 4l4 4-4 4M9 2.5l-2 11',
  settings: 'M2 4.5h7M12 4.5h2M2 11.5h2M7 11.5h7M10.5 3v3M5.5 10v3',
  system: 'M2.5 2.5h11v4h-11zM2.5 9.5h11v4h-11zM5 4.5h.5M5 11.5h.5',
} as const;

export type IconName = keyof typeof PATHS;

/** A mark that few fonts have, drawn in the colour and size of the text; screen readers pass over it. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg viewBox="0 0 16 16" width="1em" height="1em" aria-hidden="true" fill="none" stroke="currentColor">
      <path d={PATHS[name]} strokeWidth="1.5" strokeLinejoin="round" />
    </svg>
  );
}
