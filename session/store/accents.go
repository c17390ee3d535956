package store

import (
	"strings"
	"sync"
)

// accents maps letters to what they are without case and accents: those of the
// Latin, Greek and Cyrillic alphabets. It is only used to mark what was found;
// finding is left to SQLite, which knows them all.
var accents = sync.OnceValue(func() map[rune]rune {
	m := map[rune]rune{}
	for _, family := range strings.Fields(families) {
		plain := first(family)
		for _, r := range family {
			m[r] = plain
		}
	}
	return m
})

// families holds letters, each followed by its accented forms (the canonical
// decompositions of Unicode 16).
const families = "" +
	"aÀÁÂÃÄÅàáâãäåĀāĂăĄąǍǎǞǟǠǡǺǻȀȁȂȃȦȧḀḁẠạẢảẤấẦầẨẩẪẫẬậẮắẰằẲẳẴẵẶặ bḂḃḄḅḆḇ cÇçĆćĈĉĊċČčḈḉ dĎďḊḋḌḍḎḏḐḑḒḓ " +
	"eÈÉÊËèéêëĒēĔĕĖėĘęĚěȄȅȆȇȨȩḔḕḖḗḘḙḚḛḜḝẸẹẺẻẼẽẾếỀềỂểỄễỆệ fḞḟ gĜĝĞğĠġĢģǦǧǴǵḠḡ hĤĥȞȟḢḣḤḥḦḧḨḩḪḫẖ " +
	"iÌÍÎÏìíîïĨĩĪīĬĭĮįİǏǐȈȉȊȋḬḭḮḯỈỉỊị jĴĵǰ kĶķǨǩḰḱḲḳḴḵ lĹĺĻļĽľḶḷḸḹḺḻḼḽ mḾḿṀṁṂṃ nÑñŃńŅņŇňǸǹṄṅṆṇṈṉṊṋ " +
	"oÒÓÔÕÖòóôõöŌōŎŏŐőƠơǑǒǪǫǬǭȌȍȎȏȪȫȬȭȮȯȰȱṌṍṎṏṐṑṒṓỌọỎỏỐốỒồỔổỖỗỘộỚớỜờỞởỠỡỢợ pṔṕṖṗ rŔŕŖŗŘřȐȑȒȓṘṙṚṛṜṝṞṟ " +
	"sŚśŜŝŞşŠšȘșṠṡṢṣṤṥṦṧṨṩ tŢţŤťȚțṪṫṬṭṮṯṰṱẗ uÙÚÛÜùúûüŨũŪūŬŭŮůŰűŲųƯưǓǔǕǖǗǘǙǚǛǜȔȕȖȗṲṳṴṵṶṷṸṹṺṻỤụỦủỨứỪừỬửỮữỰự vṼṽṾṿ " +
	"wŴŵẀẁẂẃẄẅẆẇẈẉẘ xẊẋẌẍ yÝýÿŶŷŸȲȳẎẏẙỲỳỴỵỶỷỸỹ zŹźŻżŽžẐẑẒẓẔẕ æǢǣǼǽ øǾǿ ſẛ ʒǮǯ αΆά εΈέ ηΉή ιΊΐΪίϊ οΌό υΎΫΰϋύ ωΏώ " +
	"ϒϓϔ гЃѓ еЀЁѐё иЍЙйѝ кЌќ уЎў іЇї "
