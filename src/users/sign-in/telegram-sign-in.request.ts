import { StrictRequest, StringField } from '../../http';

/** Several times the length of the data that Telegram sends. */
const LONGEST = 8192;

@StrictRequest()
export class TelegramSignInRequest {
  @StringField({
    description: 'The data that Telegram passed to the Mini App (`Telegram.WebApp.initData`), unchanged',
    minLength: 1,
    maxLength: LONGEST,
  })
  initData!: string;
}
