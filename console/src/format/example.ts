/** A ready example of an empty list: what it is called, what it does, and what it is made from. */
export interface Example<Body> {
  title: string;
  text: string;
  body: Body;
}
