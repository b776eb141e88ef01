/**
 * What is stored of a run makes no sense: it stands on a node that its version does not have, or its graph leads to no
 * node or in a circle. The run cannot go on; no other run is affected.
 */
export class JourneyStepError extends Error {
  override readonly name = 'JourneyStepError';
  readonly code = 'JOURNEY_STEP_ERROR';
}
