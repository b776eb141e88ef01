import type { ProjectRef } from '../../tenants/project-ref.ts';

/** The key of an event subscription. */
export interface SubscriptionRef extends ProjectRef {
  subscription_id: string;
}
