import type { TargetType } from './act';

export const STAFF_ACTION = 'staff-action';

/** What the log says of a route. */
export interface StaffActionOfRoute {
  /** `users.block` */
  readonly action: string;
  /** On what, and the parameter of the path that names it. */
  readonly on?: readonly [type: TargetType, parameter: string];
}
