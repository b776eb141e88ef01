import { createContext, use, type ReactNode } from 'react';
import { roleAllows, type Place } from './session.ts';

const PlaceContext = createContext<Place | undefined>(undefined);

/** Gives the pages inside the project that they are about. */
export function PlaceProvider({ place, children }: { place: Place; children: ReactNode }) {
  return <PlaceContext value={place}>{children}</PlaceContext>;
}

/** The project that the page is about. Throws outside of {@link PlaceProvider}. */
export function usePlace(): Place {
  const place = use(PlaceContext);
  if (place === undefined) throw new TypeError('usePlace needs a PlaceProvider around it');
  return place;
}

/** Whether the user may change what editors change: segments, campaigns, journeys and templates. */
export function useMayEdit(): boolean {
  return roleAllows(usePlace().role, 'editor');
}
