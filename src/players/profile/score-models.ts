/** The name under which the service's own scores of players are stored. Operators cannot use it. */
export const DEFAULT_MODEL = 'default';
